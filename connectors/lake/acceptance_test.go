package lake_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/penstockio/penstock/connect-api/acceptance"
	"github.com/penstockio/penstock/connect-api/plugintest"
	"github.com/penstockio/penstock/internal/testenv"
)

func TestMain(m *testing.M) {
	plugintest.Main(m, func() int {
		if err := goleak.Find(goleak.IgnoreTopFunction("github.com/penstockio/penstock/connect-api/host.runLauncher")); err != nil {
			println(err.Error())
			return 1
		}
		return 0
	})
}

// The suite kills the plugin between commits, revokes and loses partitions; every record must be in published files.
func TestAcceptance(t *testing.T) {
	dir := t.TempDir()
	acceptance.Run(t, acceptance.Sink{
		Binary: plugintest.Build(t, "connectors/lake/plugin"), Connector: "lake",
		Config: map[string]string{"location": "file://" + dir, "flush.size": "7"},
		Wrong:  map[string]string{"location": "file://" + dir, "timezone": "Mars/Olympus"}, WrongKey: "timezone",
		Check: func(t *testing.T, n int) {
			rows, err := testenv.ReadLake(dir)
			if err != nil {
				t.Fatal(err)
			}
			if len(rows) < n {
				t.Fatalf("%d rows, want %d at least", len(rows), n)
			}
			for i := range n {
				if rows[i].Offset != int64(i) || rows[i].Columns["value"] != acceptance.Text(i) {
					t.Fatalf("row %d: %+v", i, rows[i])
				}
			}
		},
	})
}
