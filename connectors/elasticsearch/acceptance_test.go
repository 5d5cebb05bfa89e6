package elasticsearch

import (
	"fmt"
	"testing"

	"github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/connect-api/acceptance"
	"github.com/penstockio/penstock/internal/testenv"
)

func TestAcceptance(t *testing.T) {
	es := testenv.SharedElasticsearch(t)
	bin, err := plugin()
	if err != nil {
		t.Fatal(err)
	}
	for _, schema := range []bool{false, true} {
		t.Run(fmt.Sprintf("schema=%v", schema), func(t *testing.T) {
			do(t, es, "DELETE", "/acceptance?ignore_unavailable=true", "", 200)
			s := connectapi.NewStruct("v").Field("n", connectapi.Int32Schema).MustBuild()
			acceptance.Run(t, acceptance.Sink{
				Binary: bin, Connector: "elasticsearch",
				Config: map[string]string{"connection.url": es.URL},
				Wrong:  map[string]string{"connection.url": es.URL, "write.method": "APPEND"}, WrongKey: "write.method",
				Record: func(i int) (key, value connectapi.Value) {
					if schema {
						return number(int64(i)), structOf(t, s, map[string]any{"n": int32(i)})
					}
					return text(fmt.Sprint(i)), jsonValue(`{"n":%d}`, i)
				},
				Check: func(t *testing.T, n int) {
					docs := documents(t, es, "acceptance")
					for i := range n {
						if docs[fmt.Sprint(i)]["n"] != float64(i) {
							t.Fatalf("record %d of %d: %v", i, n, docs[fmt.Sprint(i)])
						}
					}
				},
			})
		})
	}
}
