package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"

	"github.com/penstockio/penstock/connect-api"
)

// sinkConfig configures checking-sink.
type sinkConfig struct {
	Dir string `connect:"dir,default=" doc:"Folder of the files: one a task that was opened. Empty: records are taken and forgotten, to measure the way there."`
}

var sink = connectapi.Sink[sinkConfig]{
	Info: connectapi.Info{Name: "checking-sink", Version: version, Doc: "Writes down each record it saw, durable before it says so."},
	Open: func(_ context.Context, cfg sinkConfig, t connectapi.SinkContext) (connectapi.SinkTask, error) {
		s := &sinkTask{next: connectapi.Offsets{}}
		if cfg.Dir == "" {
			return s, nil
		}
		f, err := os.CreateTemp(cfg.Dir, fmt.Sprintf("%d-*.seen", os.Getpid()))
		if err != nil {
			return nil, connectapi.ConfigError("dir", err)
		}
		t.Log().Info("writing down what comes", "file", filepath.Base(f.Name()))
		s.f = f
		return s, nil
	},
}

// sinkTask writes a line a record: topic, partition, offset, value up to the padding.
type sinkTask struct {
	f    *os.File // nil: nothing is written
	buf  []byte
	next connectapi.Offsets
}

var _ connectapi.Committer = (*sinkTask)(nil)

// Write takes records; they are durable after Commit.
func (s *sinkTask) Write(_ context.Context, rs *connectapi.Records) error {
	var at connectapi.TopicPartition
	next := int64(-1)
	for r := range rs.All() {
		if r.Original.Partition != at.Partition || r.Original.Topic != at.Topic {
			if next >= 0 {
				s.next[at] = next
			}
			at = connectapi.TopicPartition{Topic: r.Original.Topic, Partition: r.Original.Partition}
		}
		next = r.Original.Offset + 1
		if s.f != nil {
			s.line(r)
		}
	}
	if next >= 0 {
		s.next[at] = next
	}
	if s.f == nil || len(s.buf) == 0 {
		return nil
	}
	_, err := s.f.Write(s.buf)
	s.buf = s.buf[:0]
	return err
}

func (s *sinkTask) line(r *connectapi.Record) {
	s.buf = append(append(s.buf, r.Original.Topic...), ' ')
	s.buf = append(strconv.AppendInt(s.buf, int64(r.Original.Partition), 10), ' ')
	s.buf = append(strconv.AppendInt(s.buf, r.Original.Offset, 10), ' ')
	v := r.Value.Encoded()
	for i, spaces := 0, 0; i < len(v) && spaces < 2; i++ {
		if v[i] == ' ' {
			if spaces++; spaces == 2 {
				break
			}
		}
		s.buf = append(s.buf, v[i])
	}
	s.buf = append(s.buf, '\n')
}

// Commit puts on disk what was written.
func (s *sinkTask) Commit(context.Context, bool) (connectapi.Offsets, error) {
	if s.f != nil {
		if err := s.f.Sync(); err != nil {
			return nil, fmt.Errorf("syncing %s: %w", s.f.Name(), err)
		}
	}
	return maps.Clone(s.next), nil
}

// Close lets go of the file.
func (s *sinkTask) Close(context.Context) error {
	if s.f == nil {
		return nil
	}
	return errors.Join(s.f.Sync(), s.f.Close())
}
