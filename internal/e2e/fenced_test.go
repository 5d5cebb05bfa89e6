package e2e

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/penstockio/penstock/internal/testenv"
)

// leads tells whether a worker led its last round.
func leads(s *testenv.Penstock) bool {
	l := s.Log()
	i := strings.LastIndex(l, "took part in a round of the worker group")
	line, _, _ := strings.Cut(l[max(i, 0):], "\n")
	return strings.Contains(line, "leader=true")
}

// writer is one incarnation of a producer.
type writer struct {
	id    int64
	epoch int16
}

func writerOf(r *kgo.Record) writer { return writer{r.ProducerID, r.ProducerEpoch} }

// TestStoppedWorkerIsFenced stops the leader with SIGSTOP for longer than its session, so that others take its work, and lets
// it go on. No position, state or configuration of its earlier life may be accepted from then on.
func TestStoppedWorkerIsFenced(t *testing.T) { stoppedWorkerIsFenced(t, workers(t, 3)) }

func stoppedWorkerIsFenced(t *testing.T, ws []*testenv.Penstock) {
	const sources = 6
	dir := t.TempDir()
	for i := range sources {
		write(t, filepath.Join(dir, fmt.Sprintf("in%d", i)), "")
		cfg := fileSource(filepath.Join(dir, fmt.Sprintf("in%d", i)), fmt.Sprintf("lines%d", i))
		if a := post(t, ws[i%3], fmt.Sprintf("src%d", i), cfg); a.code != 201 {
			t.Fatal(a)
		}
	}
	for i := range sources {
		running(t, ws[0], fmt.Sprintf("src%d", i), 1)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer sync.OnceFunc(func() { close(stop) })()
	wg.Go(func() { // lines all the time
		for n := 0; ; n++ {
			for i := range sources {
				f, err := os.OpenFile(filepath.Join(dir, fmt.Sprintf("in%d", i)), os.O_APPEND|os.O_WRONLY, 0)
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = fmt.Fprintf(f, "%d\n", n)
				_ = f.Close()
			}
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	})
	var zombie *testenv.Penstock
	testenv.Eventually(t, 30*time.Second, "one leads", func() bool {
		for _, s := range ws {
			if leads(s) {
				zombie = s
			}
		}
		return zombie != nil
	})
	var others []*testenv.Penstock
	for _, s := range ws {
		if s != zombie {
			others = append(others, s)
		}
	}
	mine := map[string]bool{} // the zombie's connectors
	testenv.Eventually(t, 60*time.Second, "tasks are shared", func() bool {
		clear(mine)
		for i := range sources {
			name := fmt.Sprintf("src%d", i)
			if st := status(t, ws[0], name); len(st.Tasks) == 1 && st.Tasks[0].Worker_ID == workerID(zombie) && st.Tasks[0].State == "RUNNING" {
				mine[name] = true
			}
		}
		return len(mine) == sources/3
	})
	topics := []string{"connect-configs", "connect-offsets", "connect-status"}
	var data []string
	for i := range sources {
		data = append(data, fmt.Sprintf("lines%d", i))
	}
	time.Sleep(2 * time.Second) // positions are written
	zombie.Signal(syscall.SIGSTOP)
	stopped := time.Now()
	defer zombie.Signal(syscall.SIGCONT)
	// A call reaches it while it is stopped: it takes it up thinking that it leads.
	called := make(chan answer, 1)
	go func() {
		resp, err := http.Post(zombie.REST+"/connectors", "application/json", strings.NewReader(
			fmt.Sprintf(`{"name":"late","config":%s}`, sinkOf(1, filepath.Join(dir, "late")))))
		if err != nil {
			called <- answer{body: err.Error()}
			return
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		called <- answer{code: resp.StatusCode, body: string(b)}
	}()
	testenv.Eventually(t, 60*time.Second, "others have its work", func() bool {
		for name := range mine {
			st := status(t, others[0], name)
			if len(st.Tasks) != 1 || st.Tasks[0].State != "RUNNING" || st.Tasks[0].Worker_ID == workerID(zombie) {
				return false
			}
		}
		return true
	})
	t.Logf("the work of %s, stopped, runs elsewhere after %v", workerID(zombie), time.Since(stopped).Round(time.Millisecond))
	time.Sleep(2 * time.Second) // the new owners write positions

	all := append(topics, data...)
	before := &tap{cl: client(t, others[0], kgo.ConsumeTopics(all...), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords())} // what was aborted was not accepted
	recs := before.toEnd(t, all...)
	mark := len(recs)
	// Who wrote before: the zombie's are the first writers of its connectors' positions and data, and of configurations.
	old, first := map[writer]bool{}, map[string]writer{}
	highest := 0
	for _, r := range recs {
		if r.Attrs.IsControl() {
			continue
		}
		key := r.Topic + " "
		switch {
		case r.Topic == "connect-offsets":
			key += string(r.Key)
		case r.Topic == "connect-configs":
			if k := string(r.Key); strings.HasPrefix(k, "target-state-") {
				continue
			}
		case r.Topic == "connect-status":
			highest = max(highest, asStateRecord(t, r).Generation)
			continue
		}
		if _, seen := first[key]; !seen {
			first[key] = writerOf(r)
		}
	}
	for key, w := range first {
		topic, rest, _ := strings.Cut(key, " ")
		for name := range mine {
			if topic == "connect-configs" || topic == "lines"+name[len("src"):] || strings.HasPrefix(rest, `["`+name+`"`) {
				old[w] = true
			}
		}
	}
	if len(old) < 1+2*len(mine) {
		t.Fatalf("only %d writers of the worker are known: %v", len(old), first)
	}
	zombie.Signal(syscall.SIGCONT)
	testenv.Eventually(t, 60*time.Second, "it has joined again and has work", func() bool {
		n := 0
		for i := range sources {
			if st := status(t, others[0], fmt.Sprintf("src%d", i)); len(st.Tasks) == 1 && st.Tasks[0].Worker_ID == workerID(zombie) {
				n++
			}
		}
		return n > 0
	})
	a := <-called
	t.Logf("the call it met when it woke: %d %s", a.code, a.body)
	if a.code != 201 && a.code != 409 {
		t.Errorf("the call it met when it woke: %d %s", a.code, a.body)
	}
	time.Sleep(2 * time.Second)
	recs = before.toEnd(t, all...)
	late := 0
	for _, r := range recs[mark:] {
		switch {
		case r.Attrs.IsControl():
		case r.Topic == "connect-status":
			if c := asStateRecord(t, r); c.Worker_ID == workerID(zombie) && c.Generation <= highest {
				t.Errorf("a state of its earlier life was accepted: %s %s", r.Key, r.Value)
			}
		case !old[writerOf(r)]:
		case strings.HasPrefix(r.Topic, "lines"):
			late++
		default:
			t.Errorf("a record of its earlier life was accepted: topic %s key %s value %s", r.Topic, r.Key, r.Value)
		}
	}
	t.Logf("%d data records of its earlier life were accepted in the remaining window; %d records in all before it went on, %d after", late, mark, len(recs)-mark)
}
