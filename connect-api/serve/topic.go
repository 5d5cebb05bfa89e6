package serve

import (
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/connect-api/connectpb"
	"github.com/penstockio/penstock/connect-api/internal/wire"
)

// topicCredit is how many bytes of topic records may be on the way to one task.
const topicCredit = 1 << 20

// topics are the topics a task reads.
type topics struct {
	t   *source
	dir *connectapi.Directory

	mu      sync.Mutex
	nextID  uint32
	reads   map[uint32]*topicRead
	granted bool
}

// topicRead holds what came and was not taken; credit bounds it.
type topicRead struct {
	queue []*connectpb.TopicRecords
	more  chan struct{}
}

func (x *topics) init(t *source) {
	x.t, x.dir, x.reads = t, connectapi.NewDirectory(), map[uint32]*topicRead{}
}

func (x *topics) received(m *connectpb.TopicRecords) {
	x.mu.Lock()
	r := x.reads[m.Id]
	if r != nil {
		r.queue = append(r.queue, m)
	}
	x.mu.Unlock()
	if r != nil {
		poke(r.more)
		return
	}
	x.giveBack(m) // came after the task had enough
}

func (x *topics) giveBack(m *connectpb.TopicRecords) {
	if n := len(m.GetBatch().GetRows()); n > 0 {
		x.grant(n)
	}
}

func (x *topics) grant(n int) {
	_ = x.t.tell(&connectpb.FromSource{Msg: &connectpb.FromSource_Credit{Credit: &connectpb.Credit{Bytes: uint64(n)}}}) // a broken stream shows elsewhere
}

func (x *topics) begin() (uint32, *topicRead) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.granted {
		x.granted = true
		x.grant(topicCredit)
	}
	x.nextID++
	r := &topicRead{more: make(chan struct{}, 1)}
	x.reads[x.nextID] = r
	return x.nextID, r
}

func (x *topics) end(id uint32) {
	x.mu.Lock()
	r := x.reads[id]
	delete(x.reads, id)
	left := r.queue
	x.mu.Unlock()
	over := false
	for _, m := range left {
		over = over || m.End
		x.giveBack(m)
	}
	if !over {
		_ = x.t.tell(&connectpb.FromSource{Msg: &connectpb.FromSource_Read{Read: &connectpb.ReadTopic{Id: id, Cancel: true}}})
	}
}

func (x *topics) next(ctx context.Context, r *topicRead) (*connectpb.TopicRecords, error) {
	for {
		x.mu.Lock()
		if len(r.queue) > 0 {
			m := r.queue[0]
			r.queue = r.queue[1:]
			x.mu.Unlock()
			return m, nil
		}
		x.mu.Unlock()
		select {
		case <-r.more:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-x.t.ctx.Done():
			return nil, errors.New("the task's stream has ended")
		}
	}
}

// ReadTopic reads a topic through the host.
func (t *source) ReadTopic(ctx context.Context, topic string, follow bool) iter.Seq2[connectapi.Record, error] {
	return func(yield func(connectapi.Record, error) bool) {
		id, r := t.topics.begin()
		defer t.topics.end(id)
		err := t.tell(&connectpb.FromSource{Msg: &connectpb.FromSource_Read{
			Read: &connectpb.ReadTopic{Id: id, Topic: topic, Follow: follow},
		}})
		if err != nil {
			yield(connectapi.Record{}, err)
			return
		}
		for {
			m, err := t.topics.next(ctx, r)
			if err != nil {
				yield(connectapi.Record{}, err)
				return
			}
			if b := m.Batch; b != nil {
				rows := connectapi.NewRows(b.Rows, b.BaseTimestamp, t.topics.dir)
				var raw connectapi.RawRow
				var rec connectapi.Record
				for rows.Next(&raw) {
					raw.Fill(&rec)
					if !yield(rec, nil) {
						return
					}
				}
				if err := rows.Err(); err != nil {
					yield(connectapi.Record{}, err)
					return
				}
				t.topics.giveBack(m)
			}
			if m.End {
				if err := wire.ToError(m.Failure); err != nil {
					yield(connectapi.Record{}, err)
				}
				return
			}
		}
	}
}
