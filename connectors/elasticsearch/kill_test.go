package elasticsearch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/connect-api/host"
	"github.com/penstockio/penstock/internal/testenv"
)

// change is record i of the load: key and value (nil: a tombstone).
func change(i int) (id string, v map[string]any) {
	id = fmt.Sprint("k", i*7919%997)
	if i%13 == 0 {
		id = "hot"
	}
	if i%17 == 3 {
		return id, nil
	}
	return id, map[string]any{"n": float64(i), fmt.Sprint("f", i%5): float64(i)}
}

// TestKilledPluginLosesNothing: SIGKILL again and again in the middle of a load; each time the next process begins where
// the last one said that all is durable. In the end the index equals what the records add up to.
func TestKilledPluginLosesNothing(t *testing.T) {
	es := testenv.SharedElasticsearch(t)
	bin, err := plugin()
	if err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{"INSERT", "UPSERT"} {
		t.Run(method, func(t *testing.T) {
			const total = 12_000
			l := &load{bin: bin, topic: index(t), cfg: map[string]string{
				"connection.url": es.URL, "write.method": method, "behavior.on.null.values": "DELETE", "batch.size": "200",
			}}
			kills := 0
			for rng := rand.New(rand.NewPCG(7, 7)); l.durable < total; {
				killAt := int64(total + 1)
				if kills < 5 {
					killAt = l.durable + 200 + rng.Int64N(1500)
				}
				if l.run(t, total, killAt) {
					kills++
				}
			}
			if kills < 3 {
				t.Fatalf("%d kills", kills)
			}
			oracle := map[string]map[string]any{}
			for i := range total {
				id, v := change(i)
				switch {
				case v == nil:
					delete(oracle, id)
				case method == "INSERT" || oracle[id] == nil:
					oracle[id] = v
				default:
					for k, x := range v {
						oracle[id][k] = x
					}
				}
			}
			have := documents(t, es, l.topic)
			for id, want := range oracle {
				if fmt.Sprint(have[id]) != fmt.Sprint(want) {
					t.Errorf("%s is %v, want %v", id, have[id], want)
				}
			}
			if len(have) != len(oracle) {
				t.Errorf("%d documents, want %d", len(have), len(oracle))
			}
		})
	}
}

// load drives plugin processes, one after the other.
type load struct {
	bin, topic string
	cfg        map[string]string
	durable    int64
}

// run sends from what is durable on, until total is durable or the process is killed behind killAt records; true: killed.
func (l *load) run(t *testing.T, total, killAt int64) (killed bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	p, err := host.Start(ctx, host.Options{Path: l.bin, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	s, err := p.OpenSink(ctx, host.SinkOptions{Connector: "elasticsearch", Config: l.cfg})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	tp := connectapi.TopicPartition{Topic: l.topic}
	if err := s.Assign(connectapi.Offsets{tp: l.durable}); err != nil {
		t.Fatal(err)
	}
	sent := make(chan error, 1)
	from := l.durable
	go func() { sent <- l.send(ctx, s, p, from, total, killAt) }()
	for l.durable < total {
		e, err := s.Recv(ctx)
		if err != nil {
			if ctx.Err() != nil || killAt > total {
				t.Fatalf("durable below %d: %v", l.durable, err)
			}
			<-sent
			return true
		}
		switch e := e.(type) {
		case *host.Durable:
			if e.Offsets[tp] < l.durable {
				t.Fatalf("durable below %d after %d", e.Offsets[tp], l.durable)
			}
			l.durable = e.Offsets[tp]
		case *host.Failed:
			t.Fatalf("record %d: %v", e.Offset, e.Err)
		}
	}
	<-sent
	return false
}

func (l *load) send(ctx context.Context, s *host.Sink, p *host.Process, from, total, killAt int64) error {
	b := s.NewBatch()
	tp := connectapi.TopicPartition{Topic: l.topic}
	route := &connectapi.Route{Topic: l.topic, Key: connectapi.StringSchema}
	for at := from; at < total; {
		for end := min(at+100, total); at < end; at++ {
			id, v := change(int(at))
			var value []byte
			if v != nil {
				value = fmt.Appendf(nil, `{"n":%d,"f%d":%d}`, at, at%5, at)
			}
			if err := b.Append(route, connectapi.NoTime, at, []byte(id), value); err != nil {
				return err
			}
		}
		if err := s.Send(ctx, b, connectapi.Offsets{tp: at}); err != nil {
			return err
		}
		if err := s.Flush(false); err != nil {
			return err
		}
		if at >= killAt {
			return errors.Join(syscall.Kill(p.PID(), syscall.SIGKILL))
		}
	}
	return s.Flush(true)
}

// TestNothingIsLeftBehind: a task closed in the middle of everything leaves no goroutine.
func TestNothingIsLeftBehind(t *testing.T) {
	for name, ft := range map[string]fault{"well": {}, "hanging": {hang: true}, "refusing": {status: 503}, "fatal": {status: 401}} {
		t.Run(name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			f := newFake(t, func(int) fault { return ft })
			r := newRun(t, "x", f.URL, nil)
			for i := range 50 {
				r.write(t, rec{key: text(fmt.Sprint(i)), value: jsonValue(`{}`)})
				if ft.status == 401 {
					break
				}
			}
			testenv.Eventually(t, time.Minute, "a request", func() bool { return f.requests() > 0 })
			r.close()
			f.Close()
			goleak.VerifyNone(t, before)
		})
	}
}
