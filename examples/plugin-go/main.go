// Command plugin-go is the smallest useful connector plugin: a source that emits a counter, one record a tick.
//
// Build it and drop it into the worker's plugin folder:
//
//	go build -o ../../bin/plugins/penstock-connector-hello .
//
// then POST {"name":"t","config":{"connector.class":"ticker","topic":"ticks"}} to /connectors.
package main

import (
	"context"
	"time"

	"github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/connect-api/serve"
)

// Config is all there is to configure: defaults, checks and documentation come from the tags.
type Config struct {
	Topic string        `connect:"topic,required" doc:"Topic the ticks go to."`
	Every time.Duration `connect:"every.ms,default=1000,min=1" doc:"Milliseconds between two ticks."`
}

func main() {
	serve.Main(connectapi.Source[Config]{
		Info:  connectapi.Info{Name: "ticker", Version: "0.1.0", Doc: "Emits a counter, one record a tick."},
		Tasks: connectapi.OneTask[Config],
		Open:  open,
	})
}

// schema of the values; a row is filled in the order of its fields.
var schema = connectapi.NewStruct("tick").
	Field("n", connectapi.Int64Schema).
	Field("at", connectapi.NewTimestamp().MustBuild()).
	MustBuild()

var partition = connectapi.NewPartition("ticker", "only")

type task struct {
	route *connectapi.Route
	every *time.Ticker
	n     int64
}

func open(_ context.Context, cfg Config, t connectapi.SourceContext) (connectapi.SourceTask, error) {
	s := &task{
		route: connectapi.NewRoute(cfg.Topic, connectapi.Int64Schema, schema),
		every: time.NewTicker(cfg.Every),
	}
	if at, ok := t.Committed()[partition]; ok { // go on where the last run's records are durable
		n, err := at.Int64("n")
		if err != nil {
			return nil, err
		}
		s.n = n
	}
	return s, nil
}

// Read waits for a tick and adds a record.
func (s *task) Read(ctx context.Context, b *connectapi.Batch) error {
	select {
	case now := <-s.every.C:
		row := b.Begin(s.route, now)
		row.Key.Int64(s.n)
		row.Value.Int64(s.n)
		row.Value.Int64(now.UnixMilli())
		if err := row.End(); err != nil {
			return err
		}
		s.n++
		b.Position(partition, connectapi.NewOffset("n", s.n))
	case <-ctx.Done():
	}
	return nil
}

// Close lets go of what the task holds.
func (s *task) Close(context.Context) error {
	s.every.Stop()
	return nil
}
