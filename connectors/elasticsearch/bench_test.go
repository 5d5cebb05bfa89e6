package elasticsearch

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/internal/testenv"
)

const benchDocs = 1000 // a Write's, and a plain request's

var benchSchema = connectapi.NewStruct("order").Field("id", connectapi.Int64Schema).Field("name", connectapi.StringSchema).
	Field("email", connectapi.OptionalStringSchema).Field("qty", connectapi.Int32Schema).Field("price", connectapi.NewDecimal(2).MustBuild()).
	Field("created", connectapi.NewTimestamp().MustBuild()).Field("day", connectapi.NewDate().MustBuild()).
	Field("active", connectapi.BooleanSchema).MustBuild()

func benchRecord(b *testing.B, i int) rec {
	return rec{key: number(int64(i)), value: structOf(b, benchSchema, map[string]any{
		"id": int64(i), "name": fmt.Sprint("customer number ", i), "email": fmt.Sprintf("c%d@example.com", i), "qty": int32(i % 100),
		"price": connectapi.Decimal{Unscaled: big.NewInt(int64(i)), Scale: 2}, "created": int64(1_700_000_000_000 + i), "day": int32(19000 + i%300),
		"active": i%2 == 0,
	})}
}

// BenchmarkDocuments compares the sink with a plain loop that posts the same bodies, made beforehand, with as many requests
// at once. The documents are counted in the index.
func BenchmarkDocuments(b *testing.B) {
	es := testenv.SharedElasticsearch(b)
	count := func(ix string, want int) {
		b.Helper()
		do(b, es, "POST", "/"+ix+"/_refresh", "", 200)
		if n := do(b, es, "GET", "/"+ix+"/_count", "", 200)["count"]; n != float64(want) {
			b.Fatalf("%v documents, want %d", n, want)
		}
	}
	warm := newRun(b, fmt.Sprint("bench-warm-", time.Now().UnixNano()), es.URL, nil)
	for range 20 * benchDocs { // the server's compiler needs a while
		warm.write(b, benchRecord(b, int(warm.offset)))
	}
	warm.flush(b)
	for _, arm := range []string{"sink", "plain", "sink again", "plain again"} {
		b.Run(strings.ReplaceAll(arm, " ", "_"), func(b *testing.B) {
			ix := fmt.Sprint("bench-", strings.ReplaceAll(arm, " ", ""), time.Now().UnixNano())
			r := newRun(b, ix, es.URL, nil)
			r.write(b, benchRecord(b, 0))
			r.flush(b)
			total := 1
			set := settingsOf(b, nil)
			start := time.Now()
			if strings.HasPrefix(arm, "sink") {
				for range b.N {
					var recs []rec
					for i := range benchDocs {
						recs = append(recs, benchRecord(b, total+i))
					}
					rs := r.records(b, recs...)
					if err := r.Write(context.Background(), rs); err != nil {
						b.Fatal(err)
					}
					total += benchDocs
				}
				r.flush(b)
			} else {
				bodies := make(chan []byte, 1)
				var wg sync.WaitGroup
				for range 5 {
					wg.Add(1)
					go func() {
						defer wg.Done()
						for body := range bodies {
							resp, err := http.Post(es.URL+"/_bulk", "application/x-ndjson", bytes.NewReader(body))
							if err != nil {
								b.Error(err)
								continue
							}
							_, _ = io.Copy(io.Discard, resp.Body)
							_ = resp.Body.Close()
						}
					}()
				}
				for range b.N {
					var recs []rec
					for i := range benchDocs {
						recs = append(recs, benchRecord(b, total+i))
					}
					var body []byte
					for got := range r.records(b, recs...).All() {
						l, err := linesOf(set, got)
						if err != nil {
							b.Fatal(err)
						}
						body = append(body, l...)
					}
					bodies <- body
					total += benchDocs
				}
				close(bodies)
				wg.Wait()
			}
			b.ReportMetric(float64(total)/time.Since(start).Seconds(), "docs/s")
			b.StopTimer()
			count(ix, total)
		})
	}
}

// BenchmarkTranscode is the way of one record of eight fields to its lines.
func BenchmarkTranscode(b *testing.B) {
	c := connectapi.NewCatalog()
	r := &run{catalog: c, dir: connectapi.NewDirectory(), batch: connectapi.NewBatch(c), topic: "t", task: &task{}, host: &testHost{}}
	var recs []rec
	for i := range benchDocs {
		recs = append(recs, benchRecord(b, i))
	}
	rs := r.records(b, recs...)
	set := settingsOf(b, nil)
	tr := newTranscoder(set)
	var doc, lines []byte
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; {
		for got := range rs.All() {
			a, err := tr.action(got)
			if err != nil {
				b.Fatal(err)
			}
			if doc, err = tr.appendDocument(doc[:0], got.Value); err != nil {
				b.Fatal(err)
			}
			lines = a.append(lines[:0], doc, 5)
			n++
		}
	}
	b.SetBytes(int64(len(lines)))
}
