// Command pluginwire measures what a record costs on its way between worker and plugin: CPU of both processes together,
// against a bare go-plugin stream of byte frames with the same pooled codec, in the same run.
//
// Arms alternate; every arm is also run twice (A/A) to show what the machine's noise is. Rows are counted at the far end.
//
//	go run ./bench/pluginwire [-records 300000] [-rounds 31]
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/connect-api/connectpb"
	"github.com/penstockio/penstock/connect-api/host"
	"github.com/penstockio/penstock/connect-api/serve"
)

const (
	keySize   = 8
	valueSize = 422 // with its key a record of 430 bytes
	perBatch  = 100
	bar       = 1.15
)

func main() {
	switch os.Getenv("PLUGINWIRE") {
	case "connect":
		serve.Main(source, sink)
	case "bare":
		serveBare()
		return
	}
	records := flag.Int("records", 300_000, "records an arm and round")
	rounds := flag.Int("rounds", 31, "rounds")
	flag.Parse()
	if err := run(*records, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "pluginwire:", err)
		os.Exit(1)
	}
}

// arm is one way to move n records; it returns the CPU of both processes.
type arm struct {
	name string
	run  func(ctx context.Context, n int) (time.Duration, error)
	us   []float64 // a record, one a round
}

func run(records, rounds int) error {
	ctx := context.Background()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	p, err := host.Start(ctx, host.Options{Path: self, Env: []string{"PLUGINWIRE=connect"}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer p.Kill()
	b, err := startBare(self)
	if err != nil {
		return err
	}
	defer b.stop()
	directions := [][]*arm{
		{{name: "source", run: connectSource(p)}, {name: "bare source", run: b.source}, {name: "bare source again", run: b.source}},
		{{name: "sink", run: connectSink(p)}, {name: "bare sink", run: b.sink}, {name: "bare sink again", run: b.sink}},
	}
	fmt.Printf("%d records of %d bytes in batches of %d, %d rounds; CPU of worker and plugin together\n",
		records, keySize+valueSize, perBatch, rounds)
	for _, arms := range directions {
		for round := range rounds + 1 {
			for i := range arms {
				a := arms[(i+round)%len(arms)]
				cpu, err := a.run(ctx, records)
				if err != nil {
					return fmt.Errorf("%s: %w", a.name, err)
				}
				if round > 0 { // the first warms up
					a.us = append(a.us, float64(cpu.Nanoseconds())/1000/float64(records))
				}
			}
		}
		print(arms)
	}
	return nil
}

func print(arms []*arm) {
	for _, a := range arms {
		fmt.Printf("%-20s median %.3f us a record, from %.3f to %.3f\n", a.name, median(a.us), slices.Min(a.us), slices.Max(a.us))
	}
	r := ratio(arms[0], arms[1], arms[2])
	verdict := "within"
	if r > bar {
		verdict = "ABOVE"
	}
	fmt.Printf("%s against bare: %.2fx, %s the bar of %.2fx (A/A %.2fx)\n\n", arms[0].name, r, verdict, bar, ratio(arms[2], arms[1]))
}

// ratio is the median over the rounds of a's cost to the mean of its round's others: what else the machine does comes and goes,
// and meets all arms of a round.
func ratio(a *arm, others ...*arm) float64 {
	var rs []float64
	for i := range a.us {
		sum := 0.0
		for _, o := range others {
			sum += o.us[i]
		}
		rs = append(rs, a.us[i]*float64(len(others))/sum)
	}
	return median(rs)
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return s[len(s)/2]
}

type config struct {
	Records int64 `connect:"records,default=0" doc:"Records to emit."`
}

var value = make([]byte, valueSize)

var source = connectapi.Source[config]{
	Info: connectapi.Info{Name: "bench-source", Version: "1", Doc: "Emits records."},
	Open: func(_ context.Context, cfg config, _ connectapi.SourceContext) (connectapi.SourceTask, error) {
		return &sourceTask{left: cfg.Records, route: connectapi.NewRoute("t", connectapi.BytesSchema, connectapi.BytesSchema)}, nil
	},
}

type sourceTask struct {
	left  int64
	route *connectapi.Route
}

func (s *sourceTask) Read(ctx context.Context, b *connectapi.Batch) error {
	if s.left == 0 {
		<-ctx.Done()
		return nil
	}
	for range min(perBatch, s.left) {
		b.AppendEncoded(s.route, connectapi.NoTime, value[:keySize], value, connectapi.Headers{})
	}
	s.left -= min(perBatch, s.left)
	return nil
}

func (*sourceTask) Close(context.Context) error { return nil }

var sink = connectapi.Sink[config]{
	Info: connectapi.Info{Name: "bench-sink", Version: "1", Doc: "Counts records."},
	Open: func(context.Context, config, connectapi.SinkContext) (connectapi.SinkTask, error) {
		return &sinkTask{}, nil
	},
}

type sinkTask struct{ bytes int }

func (s *sinkTask) Write(_ context.Context, rs *connectapi.Records) error {
	for r := range rs.All() {
		s.bytes += len(r.Value.Encoded())
	}
	return nil
}

func (*sinkTask) Close(context.Context) error { return nil }

func connectSource(p *host.Process) func(context.Context, int) (time.Duration, error) {
	return func(ctx context.Context, n int) (time.Duration, error) {
		began := cpu(p.PID())
		s, err := p.OpenSource(ctx, host.SourceOptions{
			Connector: "bench-source", Config: map[string]string{"records": fmt.Sprint(n)},
			MaxBatchBytes: perBatch * (keySize + valueSize + 10),
		})
		if err != nil {
			return 0, err
		}
		defer s.Close()
		var row connectapi.RawRow
		for got := 0; got < n; {
			b, err := s.Recv(ctx)
			if err != nil {
				return 0, err
			}
			rows := b.Rows()
			for rows.Next(&row) {
				got++
			}
			if err := rows.Err(); err != nil {
				return 0, err
			}
			id := b.ID
			b.Release()
			if err := s.Ack(id, nil); err != nil {
				return 0, err
			}
		}
		return cpu(p.PID()) - began, nil
	}
}

func connectSink(p *host.Process) func(context.Context, int) (time.Duration, error) {
	route := connectapi.NewRoute("t", connectapi.BytesSchema, connectapi.BytesSchema)
	tp := connectapi.TopicPartition{Topic: "t"}
	return func(ctx context.Context, n int) (time.Duration, error) {
		began := cpu(p.PID())
		s, err := p.OpenSink(ctx, host.SinkOptions{Connector: "bench-sink"})
		if err != nil {
			return 0, err
		}
		defer s.Close()
		failed := make(chan error, 1)
		go func() {
			for {
				e, err := s.Recv(ctx)
				if err != nil {
					failed <- err
					return
				}
				if d, ok := e.(*host.Durable); ok && d.Offsets[tp] >= int64(n) {
					failed <- nil
					return
				}
			}
		}()
		b := s.NewBatch()
		for sent := 0; sent < n; {
			for range perBatch {
				if err := b.Append(route, connectapi.NoTime, int64(sent), value[:keySize], value); err != nil {
					return 0, err
				}
				sent++
			}
			if err := s.Send(ctx, b, connectapi.Offsets{tp: int64(sent)}); err != nil {
				return 0, err
			}
		}
		if err := <-failed; err != nil {
			return 0, err
		}
		return cpu(p.PID()) - began, nil
	}
}

// framer makes a batch's bytes for the bare arm: with the row codec of the real one, so that what is compared is transport
// alone, the protocol around the rows.
type framer struct {
	batch *connectapi.Batch
	route *connectapi.Route
}

func newFramer() *framer {
	return &framer{connectapi.NewBatch(connectapi.NewCatalog()), connectapi.NewRoute("t", connectapi.BytesSchema, connectapi.BytesSchema)}
}

func (f *framer) frame() []byte {
	for range perBatch {
		f.batch.AppendEncoded(f.route, connectapi.NoTime, value[:keySize], value, connectapi.Headers{})
	}
	return f.batch.Detach(*connectpb.Buffers.Get(perBatch * (keySize + valueSize + 10)))
}

// walker reads the rows at the other end.
type walker struct {
	dir *connectapi.Directory
	row connectapi.RawRow
}

func newWalker() *walker {
	w := &walker{dir: connectapi.NewDirectory()}
	if err := w.dir.AddRoute(1, connectapi.NewRoute("t", connectapi.BytesSchema, connectapi.BytesSchema)); err != nil {
		panic(err) // a route of our own
	}
	return w
}

func (w *walker) count(rows []byte) (int, error) {
	n := 0
	r := connectapi.NewRows(rows, 0, w.dir)
	for r.Next(&w.row) {
		n++
	}
	return n, r.Err()
}
