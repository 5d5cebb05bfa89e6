package txn

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/penstockio/penstock/broker/batch"
	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/disk"
	"github.com/penstockio/penstock/broker/group"
	"github.com/penstockio/penstock/broker/queue"
	"github.com/penstockio/penstock/broker/store"
	"github.com/penstockio/penstock/broker/topic"
)

// world is a store with both coordinators, in memory.
type world struct {
	st     *store.Store
	groups *group.Coordinator
	txns   *Coordinator
	reg    *prometheus.Registry
}

// theTopic is the topic of all partitions: partition n is queue n.
var theTopic = topic.ID{1}

func part(q queue.ID) Partition { return Partition{theTopic, int32(q), q} }

// begin starts a world; its error is that of the start.
func begin(d *disk.Mem, x vfs.FS, cfg Config) (*world, error) {
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	st, err := store.Open("/data", store.Options{
		SegmentBytes: 1 << 20, MaxMessageBytes: 256 << 10, TailBytes: 1 << 20, MemTableBytes: 1 << 20, CacheBytes: 1 << 20,
		ZeroFillAfter: -1, Disk: d, IndexFS: x,
	}, log, nil)
	if err != nil {
		return nil, err
	}
	w := &world{st: st, reg: prometheus.NewRegistry()}
	w.groups = group.New(st, group.Config{}, log, nil)
	if cfg.MaxTimeoutMs == 0 {
		cfg.MaxTimeoutMs = 900_000
	}
	w.txns = New(st, w.groups, cfg, log, w.reg)
	if err := st.Start(context.Background()); err != nil {
		return nil, err
	}
	w.groups.Started(func(topic.ID) (string, bool) { return "t", true })
	w.txns.Started()
	return w, nil
}

func (w *world) end() error {
	w.txns.Close()
	w.groups.Close()
	return w.st.Close(context.Background())
}

func mustBegin(t testing.TB, d *disk.Mem, x vfs.FS, cfg Config, queues ...queue.ID) *world {
	t.Helper()
	w, err := begin(d, x, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if len(queues) > 0 {
		if err := w.st.OpenAll(store.Policy{RetentionMs: -1, RetentionBytes: -1}, queues...); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func (w *world) mustEnd(t testing.TB) {
	t.Helper()
	if err := w.end(); err != nil {
		t.Fatal(err)
	}
}

// put appends one record; producer -1 means none.
func (w *world) put(q queue.ID, who Record, seq int32, transactional bool, value string) (int64, error) {
	bd := batch.Builder{Transactional: transactional}
	if who.ProducerID >= 0 {
		bd.Producer(who.ProducerID, who.Epoch, seq)
	}
	b, err := bd.Add(batch.Record{Time: 1, Value: []byte(value)}).Build()
	if err != nil {
		return -1, err
	}
	t := w.st.Append(store.Durable, store.Entry{Kind: commitlog.KindData, Queue: q, Batch: b})
	<-t.Done()
	if err := t.Err(); err != nil {
		return -1, err
	}
	return t.Results()[0].BaseOffset, t.Results()[0].Err
}

func (w *world) add(id string, producer int64, epoch int16, parts []Partition) error {
	wait, err := w.txns.AddPartitions(id, producer, epoch, parts)
	if err == nil {
		err = wait()
	}
	return err
}

func (w *world) addGroup(id string, producer int64, epoch int16, groupID string) error {
	wait, err := w.txns.AddGroup(id, producer, epoch, groupID)
	if err == nil {
		err = wait()
	}
	return err
}

func (w *world) finish(id string, who Record, commit bool) error {
	wait, err := w.txns.End(id, who.ProducerID, who.Epoch, commit)
	if err == nil {
		err = wait()
	}
	return err
}

func (w *world) stage(id string, who Record, groupID string, q queue.ID, offset int64) error {
	wait, err := w.txns.CommitOffsets(id, who.ProducerID, who.Epoch, group.CommitRequest{
		Group: groupID, Generation: -1,
		Offsets: []group.OffsetEntry{{Topic: theTopic, Partition: int32(q), Offset: group.Offset{Offset: offset, LeaderEpoch: -1}}},
	})
	if err == nil {
		err = wait()
	}
	return err
}

// offset is what a group has committed, -1 for nothing.
func (w *world) offset(groupID string, q queue.ID) int64 {
	if o, ok := w.groups.Fetch(groupID, theTopic, int32(q)); ok {
		return o.Offset
	}
	return -1
}

// committed reads what a reader of committed data gets, as "offset=value".
func (w *world) committed(t testing.TB, q queue.ID) []string {
	t.Helper()
	out := []string{}
	for from := int64(0); ; {
		res, err := w.st.Read(context.Background(), 1<<20, store.Cursor{Queue: q, Offset: from, MaxBytes: 1 << 20, Committed: true})
		if err != nil {
			t.Fatal(err)
		}
		p := res.Parts[0]
		if p.Err != nil {
			t.Fatal(p.Err)
		}
		if len(p.Batches) == 0 {
			res.Release()
			return out
		}
		aborted, list := map[int64]bool{}, p.Aborted
		for rest := p.Batches; len(rest) > 0; {
			b := batch.Batch(rest[:batch.Batch(rest).Size()])
			rest, from = rest[len(b):], b.LastOffset()+1
			for len(list) > 0 && list[0].FirstOffset <= b.LastOffset() {
				aborted[list[0].ProducerID] = true
				list = list[1:]
			}
			switch {
			case b.Control():
				delete(aborted, b.ProducerID())
			case b.Transactional() && aborted[b.ProducerID()]:
			default:
				recs, err := b.Records(1 << 20)
				if err != nil {
					t.Fatal(err)
				}
				for i, r := range recs {
					out = append(out, fmt.Sprintf("%d=%s", b.BaseOffset()+int64(i), r.Value))
				}
			}
		}
		res.Release()
	}
}

// metric is the value of one counter or gauge.
func (w *world) metric(t testing.TB, name string) float64 {
	t.Helper()
	families, err := w.reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "penstock_broker_"+name {
			return f.GetMetric()[0].GetCounter().GetValue() + f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}

func (w *world) head(t testing.TB, q queue.ID) store.Head {
	t.Helper()
	h, err := w.st.Head(q)
	if err != nil {
		t.Fatal(err)
	}
	return h
}
