package e2e

import (
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"

	"github.com/penstockio/penstock/internal/testenv"
)

// TestBursts sends bursts of contradicting calls for the same connectors through random workers; whatever was decided while one
// call overtook the work of another, the last word holds.
func TestBursts(t *testing.T) {
	ws := workers(t, 3)
	seed := testenv.Seed(t)
	names := []string{"one", "two", "three"}
	for round := range 10 {
		var wg sync.WaitGroup
		tasks := map[string]int{}
		for i, name := range names {
			r := rand.New(rand.NewPCG(seed, uint64(100*round+i)))
			tasks[name] = 1 + r.IntN(4)
			path, file := "/connectors/"+name, filepath.Join(ws[0].Dir, name)
			wg.Go(func() {
				for range 2 + r.IntN(12) {
					method, what, body := "PUT", "/resume", ""
					switch r.IntN(12) {
					case 0, 1, 2:
						what = "/pause"
					case 3, 4:
						what = "/stop"
					case 5:
						method, what = "POST", "/restart?includeTasks=true"
					case 6:
						method, what = "DELETE", ""
					case 7, 8, 9:
						what, body = "/config", sinkOf(1+r.IntN(4), file)
					}
					w := ws[r.IntN(len(ws))]
					if a := call(t, w, method, path+what, body); a.code >= 300 && a.code != 404 {
						t.Errorf("%s %s through %s: %d %s", method, path+what, workerID(w), a.code, a.body)
					}
				}
				call(t, ws[r.IntN(len(ws))], "PUT", path+"/config", sinkOf(tasks[name], file))
				call(t, ws[r.IntN(len(ws))], "PUT", path+"/resume", "")
			})
		}
		wg.Wait()
		for i, name := range names {
			running(t, ws[(round+i)%len(ws)], name, tasks[name])
		}
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
}
