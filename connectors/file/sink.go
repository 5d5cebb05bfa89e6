package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"

	"github.com/penstockio/penstock/connect-api"
)

// SinkConfig configures file-sink; the key is FileStreamSink's.
type SinkConfig struct {
	File string `connect:"file,required,format=path,example=/var/log/changes.txt" doc:"File the values are appended to, one a line. It is made if it is not there."`
}

// Sink is the connector file-sink.
var Sink = connectapi.Sink[SinkConfig]{
	Info: connectapi.Info{
		Name: "file-sink", Version: Version, Doc: "Appends the text of each record's value to a file, one a line.",
		Aliases: []string{
			"org.apache.kafka.connect.file.FileStreamSinkConnector", "FileStreamSinkConnector", "FileStreamSink",
		},
	},
	Validate: func(_ context.Context, cfg SinkConfig) error { return notEmpty("file", cfg.File) },
	Open: func(_ context.Context, cfg SinkConfig, t connectapi.SinkContext) (connectapi.SinkTask, error) {
		return openSink(cfg, t)
	},
}

// writeAt is the size at which lines are written.
const writeAt = 256 << 10

// sinkTask appends lines; several tasks may append to one file, as lines are written whole.
type sinkTask struct {
	path string
	f    *os.File
	buf  []byte // whole lines
	next connectapi.Offsets
}

var _ connectapi.Committer = (*sinkTask)(nil)

func openSink(cfg SinkConfig, t connectapi.SinkContext) (*sinkTask, error) {
	f, err := os.OpenFile(cfg.File, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return nil, connectapi.ConfigError("file", fmt.Errorf("opening file: %w", err))
	}
	s := &sinkTask{path: cfg.File, f: f, next: connectapi.Offsets{}}
	torn, err := s.torn()
	if err == nil && torn {
		t.Log().Warn("the file's last line has no end: a newline is added", "file", cfg.File)
		_, err = f.Write([]byte{'\n'})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("looking at the end of file %s: %w", cfg.File, err), f.Close())
	}
	return s, nil
}

// torn says whether the file ends inside a line.
func (s *sinkTask) torn() (bool, error) {
	st, err := s.f.Stat()
	if err != nil || st.Size() == 0 || !st.Mode().IsRegular() {
		return false, err
	}
	var last [1]byte
	if _, err := s.f.ReadAt(last[:], st.Size()-1); err != nil && err != io.EOF {
		return false, err
	}
	return last[0] != '\n', nil
}

// Write takes records; they are durable after Commit.
func (s *sinkTask) Write(_ context.Context, rs *connectapi.Records) error {
	for r := range rs.All() {
		from := len(s.buf)
		var err error
		if s.buf, err = r.Value.AppendText(s.buf); err != nil {
			s.buf = s.buf[:from]
			r.Fail(err)
		} else {
			s.buf = append(s.buf, '\n')
		}
		s.next[connectapi.TopicPartition{Topic: r.Original.Topic, Partition: r.Original.Partition}] = r.Original.Offset + 1
		if len(s.buf) >= writeAt {
			if err := s.write(); err != nil {
				return err
			}
		}
	}
	return nil
}

// write writes the lines that wait in one call.
func (s *sinkTask) write() error {
	if len(s.buf) == 0 {
		return nil
	}
	n, err := s.f.Write(s.buf)
	s.buf = s.buf[:copy(s.buf, s.buf[n:])]
	if err != nil {
		return fmt.Errorf("writing to file %s: %w", s.path, err)
	}
	if cap(s.buf) > 4*writeAt {
		s.buf = nil
	}
	return nil
}

// Commit puts all lines on disk (I3).
func (s *sinkTask) Commit(context.Context, bool) (connectapi.Offsets, error) {
	if err := s.write(); err != nil {
		return nil, err
	}
	if err := s.f.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !isPipe(s.f) {
		return nil, fmt.Errorf("syncing file %s: %w", s.path, err) // never tried again: the kernel may have dropped the pages
	}
	return maps.Clone(s.next), nil
}

func isPipe(f *os.File) bool {
	st, err := f.Stat()
	return err == nil && !st.Mode().IsRegular()
}

// Close lets go of the file. Lines that were not committed are not durable, and were not said to be.
func (s *sinkTask) Close(context.Context) error {
	return errors.Join(s.write(), s.f.Close())
}
