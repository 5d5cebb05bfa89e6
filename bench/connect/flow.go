package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/penstockio/penstock/internal/testenv"
)

const stringConverter = "org.apache.kafka.connect.storage.StringConverter"

func flowFigures(title string) *figures {
	return newFigures(title, "records/s", "worker µs/record", "resident MB")
}

// sourceLines: one task writes to a topic of one partition as fast as it can, each run on a broker of its own.
func sourceLines(p plan, arms []*arm) error {
	for _, size := range p.sizes() {
		f := flowFigures(fmt.Sprintf("source to topic, %d B, one task, one partition, StringConverter", size))
		err := alternate(p, arms, f, func(a *arm) ([]float64, error) {
			return onBroker(func(dir, addr string, adm *kadm.Client) ([]float64, error) {
				return flow(p, a.group(dir, addr), func(g *group) map[string]string {
					return map[string]string{"connector.class": g.source, "topic": "flow", "size": strconv.Itoa(size), "keys": "false"}
				}, "flow", func() (int64, error) {
					o, err := adm.ListEndOffsets(context.Background(), "flow")
					at, _ := o.Lookup("flow", 0)
					return at.Offset, err
				})
			})
		})
		if err != nil {
			return err
		}
		f.print()
	}
	return nil
}

// sinkLines: one task reads a topic of one partition as fast as it can, all runs of a size the same topic.
func sinkLines(p plan, arms []*arm) error {
	for _, size := range p.sizes() {
		f := flowFigures(fmt.Sprintf("topic to sink, %d B, one task, one partition, StringConverter", size))
		_, err := onBroker(func(dir, addr string, adm *kadm.Client) ([]float64, error) {
			if err := fill(addr, size, (p.warm + p.window).Seconds()); err != nil {
				return nil, err
			}
			run := 0
			return nil, alternate(p, arms, f, func(a *arm) ([]float64, error) {
				run++
				name := "sink-" + strconv.Itoa(run)
				return flow(p, a.group(filepath.Join(dir, name), addr), func(g *group) map[string]string {
					return map[string]string{"connector.class": g.sink, "topics": "flow"}
				}, name, func() (int64, error) {
					o, err := adm.FetchOffsets(context.Background(), "connect-"+name)
					at, _ := o.Lookup("flow", 0)
					return at.At, err
				})
			})
		})
		if err != nil {
			return err
		}
		f.print()
	}
	return nil
}

func alternate(p plan, arms []*arm, f *figures, run func(*arm) ([]float64, error)) error {
	for range p.rounds {
		for _, a := range arms {
			v, err := run(a)
			if err != nil {
				return fmt.Errorf("%s: %w", a.name, err)
			}
			f.add(a.name, v)
		}
	}
	return nil
}

// onBroker starts a broker with the flow's topic.
func onBroker(use func(dir, addr string, adm *kadm.Client) ([]float64, error)) ([]float64, error) {
	dir := testenv.TempDir("psflow")
	defer os.RemoveAll(dir)
	broker, addr, err := startBroker(dir)
	if err != nil {
		return nil, err
	}
	defer broker.end()
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	adm := kadm.NewClient(cl)
	if _, err := adm.CreateTopic(context.Background(), 1, 1, nil, "flow"); err != nil {
		return nil, err
	}
	return use(dir, addr, adm)
}

// flow runs a connector on one worker and measures it while it is busy.
func flow(p plan, g *group, config func(*group) map[string]string, name string, count func() (int64, error)) ([]float64, error) {
	defer g.stop()
	w, err := g.start()
	if err != nil {
		return nil, err
	}
	if err := w.ready(); err != nil {
		return nil, err
	}
	cfg := config(g)
	cfg["tasks.max"], cfg["key.converter"], cfg["value.converter"] = "1", stringConverter, stringConverter
	if err := w.create(name, cfg); err != nil {
		return nil, err
	}
	first, err := g.mark(count, time.Minute)
	if err != nil {
		return nil, fmt.Errorf("%w: see %s", err, w.out)
	}
	marks := []mark{first}
	for time.Since(first.at) < p.warm+p.window {
		m, err := g.mark(count, 3*time.Second)
		if err != nil {
			break // a sink has come to the end of its topic
		}
		marks = append(marks, m)
	}
	resident := g.residentMB()
	w.do("DELETE", "/connectors/"+name, nil) //nolint:errcheck // a sink of another run must not go on
	from, to := window(marks, p.warm)
	n := float64(to.n - from.n)
	if n <= 0 {
		return nil, fmt.Errorf("%d records moved in one step: too few to be measured", to.n)
	}
	return []float64{n / to.at.Sub(from.at).Seconds(), float64((to.cpu - from.cpu).Microseconds()) / n, resident}, nil
}

// mark is how many records had moved when, and the CPU until then.
type mark struct {
	n   int64
	at  time.Time
	cpu time.Duration
}

// window chooses what is measured: what is behind the warm-up, or, if a sink was through its topic before that was long
// over, what is behind its first third.
func window(marks []mark, warm time.Duration) (from, to mark) {
	to = marks[len(marks)-1]
	for _, m := range marks {
		if m.at.Sub(marks[0].at) >= warm && to.at.Sub(m.at) >= 3*time.Second {
			return m, to
		}
	}
	for _, m := range marks {
		if m.n >= to.n/3 {
			return m, to
		}
	}
	return to, to
}

// mark waits until the count grows and reads the clocks then: a sink's grows once a commit.
func (g *group) mark(count func() (int64, error), patience time.Duration) (mark, error) {
	was, err := count()
	for begun := time.Now(); err == nil && time.Since(begun) < patience; time.Sleep(2 * time.Millisecond) {
		var n int64
		if n, err = count(); err == nil && n > max(was, 0) {
			return mark{n, time.Now(), g.cpu()}, nil
		}
	}
	if err == nil {
		err = fmt.Errorf("nothing moved within %v, behind record %d", patience, was)
	}
	return mark{}, err
}

// fill writes what a sink can read in some seconds.
func fill(broker string, size int, seconds float64) error {
	perSecond := 1_200_000.0
	if size > 500 {
		perSecond = 400_000
	}
	count := int(perSecond * seconds)
	cl, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.DefaultProduceTopic("flow"), kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.MaxBufferedRecords(100_000),
		kgo.ProducerLinger(5*time.Millisecond))
	if err != nil {
		return err
	}
	defer cl.Close()
	value := []byte("0 0 " + strings.Repeat(".", size-4))
	for range count {
		cl.Produce(context.Background(), &kgo.Record{Value: value}, nil)
	}
	return cl.Flush(context.Background())
}
