package host

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/connect-api/connectpb"
	"github.com/penstockio/penstock/connect-api/internal/wire"
)

const (
	maxReads       = 8 // topics a task reads at once
	topicBatchSize = 256 << 10
)

// topics answers a source's wishes to read topics.
type topics struct {
	s       *Source
	wg      sync.WaitGroup
	mu      sync.Mutex
	running map[uint32]context.CancelFunc
	credit  int
	granted chan struct{} // closed and replaced when credit comes
	catalog *connectapi.Catalog
	sendMu  sync.Mutex // announcements and the batch that needs them go out together
}

func (t *topics) init(s *Source) {
	t.s, t.running, t.granted = s, map[uint32]context.CancelFunc{}, make(chan struct{})
	t.catalog = connectapi.NewCatalog()
}

func (t *topics) wait() { t.wg.Wait() }

func (t *topics) grant(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.credit += n
	close(t.granted)
	t.granted = make(chan struct{})
}

func (t *topics) request(m *connectpb.ReadTopic) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if cancel, ok := t.running[m.Id]; ok {
		if m.Cancel {
			cancel()
		}
		return
	}
	if m.Cancel {
		return
	}
	ctx, cancel := context.WithCancel(t.s.ctx)
	full := len(t.running) >= maxReads
	t.running[m.Id] = cancel
	t.wg.Go(func() {
		defer cancel()
		err := errors.New("this worker cannot read topics for a task")
		switch {
		case full:
			err = fmt.Errorf("a task may read %d topics at once", maxReads)
		case t.s.opts.ReadTopic != nil:
			w := &TopicWriter{ctx: ctx, t: t, id: m.Id, topic: m.Topic, b: connectapi.NewBatch(t.catalog), routes: map[int32]*connectapi.Route{}}
			if err = t.s.opts.ReadTopic(ctx, m.Topic, m.Follow, w); err == nil {
				err = w.Flush()
			}
		}
		t.end(m.Id, err)
	})
}

// end says that no more comes, and why.
func (t *topics) end(id uint32, err error) {
	t.mu.Lock()
	delete(t.running, id)
	t.mu.Unlock()
	_ = t.send(&connectpb.TopicRecords{Id: id, End: true, Failure: wire.Failure(err)}) // a broken stream shows in Recv
}

func (t *topics) send(m *connectpb.TopicRecords) error {
	return t.s.send(&connectpb.Frame{Msg: &connectpb.ToSource{Msg: &connectpb.ToSource_Topic{Topic: m}}})
}

// TopicWriter takes the records of a topic that a task reads: their bytes as they are. For one goroutine.
type TopicWriter struct {
	ctx    context.Context
	t      *topics
	id     uint32
	topic  string
	b      *connectapi.Batch
	routes map[int32]*connectapi.Route
}

// Append adds a record; it waits while the task takes nothing.
func (w *TopicWriter) Append(partition int32, offset, millis int64, key, value []byte) error {
	r := w.routes[partition]
	if r == nil {
		r = connectapi.NewRoute(w.topic, connectapi.OptionalBytesSchema, connectapi.OptionalBytesSchema)
		r.Partition = partition
		w.routes[partition] = r
	}
	w.t.sendMu.Lock() // the catalog is shared by all reads of the task
	w.b.AppendConsumed(r, millis, offset, key, value, connectapi.Headers{})
	w.t.sendMu.Unlock()
	if w.b.Size() >= topicBatchSize {
		return w.Flush()
	}
	return nil
}

// Flush sends what was added.
func (w *TopicWriter) Flush() error {
	if w.b.Len() == 0 {
		return nil
	}
	if err := w.waitCredit(w.b.Size()); err != nil {
		return err
	}
	w.t.sendMu.Lock()
	defer w.t.sendMu.Unlock()
	schemas, routes := w.t.catalog.Announce()
	for _, a := range schemas {
		if err := w.t.s.send(&connectpb.Frame{Msg: &connectpb.ToSource{
			Msg: &connectpb.ToSource_Schema{Schema: wire.Schema(a.ID, a.Schema)},
		}}); err != nil {
			return err
		}
	}
	for _, a := range routes {
		if err := w.t.s.send(&connectpb.Frame{Msg: &connectpb.ToSource{
			Msg: &connectpb.ToSource_Route{Route: wire.Route(a)},
		}}); err != nil {
			return err
		}
	}
	err := w.t.send(&connectpb.TopicRecords{Id: w.id, Batch: &connectpb.Batch{
		Count: uint32(w.b.Len()), BaseTimestamp: w.b.Base(), Rows: w.b.Encoded(),
	}})
	w.b.Reset()
	return err
}

// waitCredit waits for the task to grant more; one batch may overdraw.
func (w *TopicWriter) waitCredit(n int) error {
	for {
		w.t.mu.Lock()
		if w.t.credit > 0 {
			w.t.credit -= n
			w.t.mu.Unlock()
			return nil
		}
		granted := w.t.granted
		w.t.mu.Unlock()
		select {
		case <-granted:
		case <-w.ctx.Done():
			return context.Cause(w.ctx)
		}
	}
}
