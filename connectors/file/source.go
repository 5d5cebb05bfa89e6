package file

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/penstockio/penstock/connect-api"
)

// Version of both connectors.
const Version = "1.0.0"

// SourceConfig configures file-source; the keys are FileStreamSource's.
type SourceConfig struct {
	File    string `connect:"file,required,format=path,example=/var/log/app.log" doc:"File to read, line by line. It may come into being later."`
	Topic   string `connect:"topic,required" doc:"Topic the lines go to."`
	Batch   int32  `connect:"batch.size,default=2000,min=1,importance=low" doc:"Most lines one read returns."`
	MaxLine int32  `connect:"line.max.bytes,default=16777216,min=1024,importance=low" doc:"Longest line, in bytes. A longer one fails the task."`
}

// Source is the connector file-source.
var Source = connectapi.Source[SourceConfig]{
	Info: connectapi.Info{
		Name: "file-source", Version: Version, Doc: "Reads a text file line by line and follows it.",
		Aliases: []string{
			"org.apache.kafka.connect.file.FileStreamSourceConnector", "FileStreamSourceConnector", "FileStreamSource",
		},
		Metrics: []connectapi.Metric{{Name: "position", Unit: "bytes", Help: "Position in the file."}},
	},
	Validate: validateSource,
	Tasks:    connectapi.OneTask[SourceConfig],
	Alter:    alter,
	// A position is the byte behind a line.
	ExactlyOnce: func(SourceConfig) bool { return true },
	Open: func(_ context.Context, cfg SourceConfig, t connectapi.SourceContext) (connectapi.SourceTask, error) {
		return openSource(cfg, t)
	},
}

func validateSource(_ context.Context, cfg SourceConfig) error {
	return errors.Join(notEmpty("file", cfg.File), notEmpty("topic", cfg.Topic))
}

func notEmpty(key, value string) error {
	if value == "" {
		return connectapi.ConfigError(key, fmt.Errorf("Invalid value  for configuration %s: String must be non-empty", key))
	}
	return nil
}

const (
	filenameField = "filename"
	positionField = "position"
)

func partitionOf(path string) connectapi.Partition {
	return connectapi.NewPartition(filenameField, path)
}

// alter checks offsets a user gives.
func alter(_ context.Context, _ SourceConfig, to []connectapi.Position, _ bool) (bool, error) {
	for _, p := range to {
		f, err := p.Partition.Fields()
		if err != nil {
			return false, err
		}
		if _, ok := f[filenameField].(string); !ok || len(f) != 1 {
			return false, fmt.Errorf("partition %s must be an object with the file's name in %q", p.Partition, filenameField)
		}
		if p.Offset == "" {
			continue
		}
		if n, err := p.Offset.Int64(positionField); err != nil || n < 0 {
			return false, fmt.Errorf("offset %s must be an object with a number of bytes, 0 or more, in %q", p.Offset, positionField)
		}
	}
	return false, nil
}

// sourceTask reads one file.
type sourceTask struct {
	cfg       SourceConfig
	ctx       connectapi.SourceContext
	route     *connectapi.Route
	partition connectapi.Partition
	lines     *lines
	watch     *watcher
	waiting   bool
}

func openSource(cfg SourceConfig, t connectapi.SourceContext) (*sourceTask, error) {
	s := &sourceTask{
		cfg: cfg, ctx: t, partition: partitionOf(cfg.File),
		route: connectapi.NewRoute(cfg.Topic, nil, connectapi.StringSchema),
	}
	var at int64
	if o := t.Committed()[s.partition]; o != "" {
		n, err := o.Int64(positionField)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("resuming file %s: its stored offset %s is no number of bytes in %q", cfg.File, o, positionField)
		}
		at = n
	}
	s.lines = newLines(cfg.File, at, int(cfg.MaxLine), t.Log())
	s.watch = newWatcher(cfg.File)
	return s, nil
}

// Read waits for lines and adds them.
func (s *sourceTask) Read(ctx context.Context, b *connectapi.Batch) error {
	for {
		n, err := s.fill(b)
		if n > 0 || err != nil {
			if n > 0 {
				b.Position(s.partition, connectapi.NewOffset(positionField, s.lines.position))
				s.ctx.Report("", map[string]float64{"position": float64(s.lines.position)})
				s.waiting = false
			}
			return err
		}
		if !s.waiting {
			s.waiting = true
			s.ctx.Report(s.lines.waitsFor(), map[string]float64{"position": float64(s.lines.position)})
		}
		if !s.watch.wait(ctx) {
			return nil
		}
	}
}

// fill adds the lines that are there, up to a batch.
func (s *sourceTask) fill(b *connectapi.Batch) (n int, err error) {
	now := time.Now().UnixMilli()
	for n < int(s.cfg.Batch) && !b.Full() {
		line, ok, err := s.lines.next()
		if err != nil || !ok {
			return n, err
		}
		b.AppendEncoded(s.route, now, nil, line, connectapi.Headers{})
		n++
	}
	return n, nil
}

// Close lets go of the file.
func (s *sourceTask) Close(context.Context) error {
	return errors.Join(s.lines.close(), s.watch.close())
}
