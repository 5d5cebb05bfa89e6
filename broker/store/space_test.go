package store

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/penstockio/penstock/broker/batch"
	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/disk"
	"github.com/penstockio/penstock/broker/index"
	"github.com/penstockio/penstock/broker/queue"
	"github.com/penstockio/penstock/internal/testenv"
)

// record is one record of the model.
type record struct {
	key, value string // value "": a tombstone
	time       int64
}

// modelQueue is what a queue should hold.
type modelQueue struct {
	policy  Policy
	records []record // by offset
	start   int64
	aborted map[int64]bool
	control map[int64]bool
	txns    map[int64]*modelTxn // by producer
}

// modelTxn is a transactional producer of a queue.
type modelTxn struct {
	seq  int32
	open []int64 // offsets of its open transaction
}

// pending tells whether an offset belongs to an open transaction.
func (mq *modelQueue) pending(off int64) bool {
	for _, x := range mq.txns {
		if slices.Contains(x.open, off) {
			return true
		}
	}
	return false
}

// model is a store with what it should hold.
type model struct {
	t      testing.TB
	rng    *rand.Rand
	s      *Store
	queues map[queue.ID]*modelQueue
	next   queue.ID
}

func (m *model) open(p Policy) queue.ID {
	m.t.Helper()
	q := m.next
	m.next++
	open(m.t, m.s, p, q)
	m.queues[q] = &modelQueue{policy: p, aborted: map[int64]bool{}, control: map[int64]bool{}, txns: map[int64]*modelTxn{}}
	return q
}

func (m *model) any() queue.ID {
	ids := slices.Sorted(maps.Keys(m.queues))
	return ids[m.rng.IntN(len(ids))]
}

// produce appends a batch of random records.
func (m *model) produce(q queue.ID) {
	m.t.Helper()
	mq := m.queues[q]
	bd := batch.Builder{Codec: batch.Codec(m.rng.IntN(5))}
	var x *modelTxn
	if m.rng.IntN(5) == 0 {
		pid := int64(1000 + m.rng.IntN(2))
		if x = mq.txns[pid]; x == nil {
			x = &modelTxn{}
			mq.txns[pid] = x
		}
		if len(x.open) > 0 && m.rng.IntN(2) == 0 {
			m.end(q, pid, x)
			return
		}
		bd.Transactional = true
		bd.Producer(pid, 0, x.seq)
	}
	for range 1 + m.rng.IntN(5) {
		r := record{
			key: fmt.Sprintf("key%d", m.rng.IntN(40)), value: strings.Repeat(fmt.Sprint(m.rng.IntN(1000)), 1+m.rng.IntN(500)),
			time: 1000 + m.rng.Int64N(100000),
		}
		rec := batch.Record{Time: r.time, Key: []byte(r.key), Value: []byte(r.value)}
		if m.rng.IntN(8) == 0 {
			r.value, rec.Value = "", nil
		}
		rec.Headers = []batch.Header{{Key: "h", Value: []byte("x")}}
		bd.Add(rec)
		if x != nil {
			x.seq++
			x.open = append(x.open, int64(len(mq.records)))
		}
		mq.records = append(mq.records, r)
	}
	b, err := bd.Build()
	if err != nil {
		m.t.Fatal(err)
	}
	put(m.t, m.s, q, b)
}

// end commits or aborts a transaction.
func (m *model) end(q queue.ID, pid int64, x *modelTxn) {
	mq, commit := m.queues[q], m.rng.IntN(2) == 0
	off := put(m.t, m.s, q, marker(pid, 0, commit))
	if off != int64(len(mq.records)) {
		m.t.Fatalf("queue %d: a marker is at %d, want %d", q, off, len(mq.records))
	}
	mq.records = append(mq.records, record{time: 1})
	mq.control[off] = true
	for _, o := range x.open {
		mq.aborted[o] = !commit
	}
	x.open = nil
}

// visible reads a queue as a reader of committed data does, with the client's part done.
func visible(t testing.TB, s *Store, q queue.ID, from int64) map[int64]bool {
	t.Helper()
	out, aborted := map[int64]bool{}, map[int64]bool{}
	for {
		res, err := s.Read(context.Background(), 64<<10, Cursor{Queue: q, Offset: from, MaxBytes: 64 << 10, Committed: true})
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
		clear(aborted) // every answer lists what concerns it
		list := p.Aborted
		for rest := p.Batches; len(rest) > 0; {
			b := batch.Batch(rest[:batch.Batch(rest).Size()])
			rest = rest[len(b):]
			from = b.LastOffset() + 1
			for len(list) > 0 && list[0].FirstOffset <= b.LastOffset() {
				aborted[list[0].ProducerID] = true
				list = list[1:]
			}
			if b.Control() {
				delete(aborted, b.ProducerID())
				continue
			}
			if b.Transactional() && aborted[b.ProducerID()] {
				continue
			}
			if err := b.EachRaw(1<<20, func(r batch.Raw) error {
				out[b.BaseOffset()+int64(r.Delta)] = true
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		res.Release()
	}
}

// fetched reads a queue from an offset as a consumer does, and fails when it gets stuck or gets a batch in vain.
func fetched(t testing.TB, s *Store, q queue.ID, from int64) map[int64]record {
	t.Helper()
	out := map[int64]record{}
	for {
		res, err := s.Read(context.Background(), 64<<10, Cursor{Queue: q, Offset: from, MaxBytes: 64 << 10})
		if err != nil {
			t.Fatal(err)
		}
		p := res.Parts[0]
		if p.Err != nil {
			t.Fatalf("reading queue %d at %d: %v", q, from, p.Err)
		}
		if len(p.Batches) == 0 {
			if from != p.HighWatermark {
				t.Fatalf("queue %d: a reader is stuck at %d, the end is %d", q, from, p.HighWatermark)
			}
			res.Release()
			return out
		}
		asked, useful := from, false // some clients look at the first batch alone
		for rest := p.Batches; len(rest) > 0; {
			b := batch.Batch(rest[:batch.Batch(rest).Size()])
			first := len(rest) == len(p.Batches)
			rest = rest[len(b):]
			if b.SumCRC() != b.CRC() {
				t.Fatalf("queue %d: the CRC of the batch at %d does not hold", q, b.BaseOffset())
			}
			if err := b.EachRaw(16<<20, func(r batch.Raw) error {
				if off := b.BaseOffset() + int64(r.Delta); off >= asked {
					useful = useful || first
					out[off] = record{string(r.Key), string(r.Value), r.Time}
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			from = b.LastOffset() + 1
		}
		if !useful {
			t.Fatalf("queue %d: the first batch read at %d has no record at or above it", q, asked)
		}
		res.Release()
	}
}

// check compares every queue with the model, from its start and from random offsets.
func (m *model) check() {
	m.t.Helper()
	for q, mq := range m.queues {
		h, err := m.s.Head(q)
		if err != nil {
			m.t.Fatal(err)
		}
		if h.HighWatermark != int64(len(mq.records)) || h.LogStart < mq.start || !mq.policy.Delete && h.LogStart != mq.start {
			m.t.Fatalf("queue %d is %+v, the model has %d records from %d", q, h, len(mq.records), mq.start)
		}
		mq.start = h.LogStart
		got := fetched(m.t, m.s, q, h.LogStart)
		last := map[string]int64{}
		for off := h.LogStart; off < h.HighWatermark; off++ {
			if r := mq.records[off]; !mq.aborted[off] && !mq.control[off] && !mq.pending(off) {
				last[r.key] = off
			}
		}
		seen := visible(m.t, m.s, q, h.LogStart)
		for off := range seen {
			if off >= h.LogStart && (mq.aborted[off] || mq.control[off] || mq.pending(off)) {
				m.t.Fatalf("queue %d: a reader of committed data gets offset %d (aborted %v)", q, off, mq.aborted[off])
			}
		}
		for off := h.LogStart; off < h.HighWatermark; off++ {
			want := mq.records[off]
			r, ok := got[off]
			if ok && r != want && !mq.control[off] {
				m.t.Fatalf("queue %d offset %d: read %.60v, want %.60v", q, off, r, want)
			}
			must := !mq.policy.Compact || mq.pending(off) || last[want.key] == off && want.value != "" && !mq.aborted[off] && !mq.control[off]
			shown := !mq.aborted[off] && !mq.control[off] && off < h.LastStable
			if must && (!ok || shown && !seen[off]) {
				m.t.Fatalf("queue %d (start %d, end %d): offset %d is lost", q, h.LogStart, h.HighWatermark, off)
			}
		}
		if n := h.HighWatermark - h.LogStart; n > 0 {
			from := h.LogStart + m.rng.Int64N(n)
			for off, r := range fetched(m.t, m.s, q, from) {
				if got[off] != r {
					m.t.Fatalf("queue %d: from %d another record is read at %d", q, from, off)
				}
			}
		}
		m.checkTimes(q, mq, got)
	}
	checkShares(m.t, m.s)
}

// checkTimes looks up times and compares with the records that are there.
func (m *model) checkTimes(q queue.ID, mq *modelQueue, got map[int64]record) {
	m.t.Helper()
	offs := slices.Sorted(maps.Keys(got))
	for range 3 {
		ms := 1000 + m.rng.Int64N(101000)
		want := int64(-1)
		for _, o := range offs {
			if got[o].time >= ms {
				want = o
				break
			}
		}
		if o, _, err := m.s.OffsetAt(context.Background(), q, ms); err != nil || o != want {
			m.t.Fatalf("queue %d: the first record at or after %d is at %d (%v), want %d", q, ms, o, err, want)
		}
	}
	most := int64(-1)
	for _, r := range got {
		most = max(most, r.time)
	}
	if _, at, err := m.s.MaxTimestamp(context.Background(), q); err != nil || at != most {
		m.t.Fatalf("queue %d: the highest time is %d (%v), want %d", q, at, err, most)
	}
}

// checkShares: what the index counts for each segment and queue is what its entries add up to.
func checkShares(t testing.TB, s *Store) {
	t.Helper()
	type sum struct{ batches, bytes int64 }
	want, sizes := map[shareKey]sum{}, map[queue.ID]int64{}
	it, err := s.db.Iter(index.PrefixRange(index.PrefixBatch))
	if err != nil {
		t.Fatal(err)
	}
	for ok := it.First(); ok; ok = it.Next() {
		q, last := index.BatchLast(it.Key())
		e, err := index.DecodeEntry(last, it.Value())
		if err != nil {
			t.Fatal(err)
		}
		log := s.log
		if e.Store == index.StoreCold {
			log = s.cold
		}
		sg, ok := log.SegmentOf(e.Position)
		if !ok {
			t.Fatalf("the batch at %d of queue %d is in no segment", e.Base, q)
		}
		k := shareKey{segID{e.Store, sg.First}, queue.ID(q)}
		want[k] = sum{want[k].batches + 1, want[k].bytes + int64(e.Size)}
		sizes[queue.ID(q)] += int64(e.Size)
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	live := map[segID]int64{}
	for id := range s.lives.all() {
		if err := s.eachShare(id, func(q queue.ID, sh index.Share) error {
			k := shareKey{id, q}
			if want[k] != (sum{sh.Batches, sh.Bytes}) {
				t.Fatalf("queue %d in segment %+v: counted %+v, there is %+v", q, id, sh, want[k])
			}
			live[id] += sh.Bytes
			delete(want, k)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if len(want) > 0 || !maps.Equal(live, s.lives.all()) {
		t.Fatalf("not counted: %v; %v against %v", want, live, s.lives.all())
	}
	for q, n := range sizes {
		if got, err := s.Size(q); err != nil || got != n {
			t.Fatalf("queue %d has %d bytes, counted %d (%v)", q, n, got, err)
		}
	}
}

// sameIndex compares two dumps key by key; the running times of entries and the bounds of shares by what they are for.
func sameIndex(t testing.TB, old, rebuilt map[string]string) {
	t.Helper()
	plain := func(all map[string]string) map[string]string {
		out := map[string]string{}
		for k, v := range all {
			key, _ := hex.DecodeString(k)
			val, _ := hex.DecodeString(v)
			switch index.Prefix(key[0]) {
			case index.PrefixBatch:
				_, last := index.BatchLast(key)
				e, err := index.DecodeEntry(last, val)
				if err != nil {
					t.Fatal(err)
				}
				e.MaxTime = 0
				v = fmt.Sprintf("%+v", e)
			case index.PrefixSegment:
				sh, err := index.DecodeShare(val)
				if err != nil {
					t.Fatal(err)
				}
				v = fmt.Sprintf("%d batches, %d bytes", sh.Batches, sh.Bytes)
			}
			out[k] = v
		}
		return out
	}
	a, b := plain(old), plain(rebuilt)
	for k, v := range a {
		if b[k] != v {
			t.Errorf("%s = %s, rebuilt %q", k, v, b[k])
		}
	}
	for k, v := range b {
		if _, ok := a[k]; !ok {
			t.Errorf("rebuilt %s = %s, which was not there", k, v)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
}

// TestRebuildWithSegmentsGone: a random load with everything that moves, trims and removes batches, over restarts; then
// the index is deleted, and what is rebuilt from a snapshot, the segments left and the cold log equals the old one.
func TestRebuildWithSegmentsGone(t *testing.T) {
	seed := testenv.Seed(t)
	d, x := disk.NewMem(), vfs.NewMem()
	o := memOptions(d, x)
	o.FlushLogBytes, o.SegmentBytes, o.MaxMessageBytes = 300<<10, 256<<10, 16<<10
	nm := &names{}
	m := &model{t: t, rng: rand.New(rand.NewPCG(seed, 3)), s: startWith(t, o, nm), queues: map[queue.ID]*modelQueue{}, next: 1}
	policies := []Policy{
		{RetentionMs: -1, RetentionBytes: -1, Delete: true},
		{RetentionMs: -1, RetentionBytes: 200 << 10, Delete: true},
		{RetentionMs: -1, RetentionBytes: -1, Compact: true, TombstoneMs: 1 << 40, Dirty: 300},
		{RetentionMs: -1, RetentionBytes: 100 << 10, Compact: true, Delete: true, TombstoneMs: 0, Dirty: 100},
	}
	for _, p := range policies {
		m.open(p)
	}
	ctx := context.Background()
	steps := 3000
	if testing.Short() {
		steps = 1500
	}
	for step := range steps {
		var err error
		switch k := m.rng.IntN(1000); {
		case k < 8:
			m.open(policies[m.rng.IntN(len(policies))])
		case k < 13 && len(m.queues) > 4:
			q := m.any()
			delete(m.queues, q)
			err = m.s.Drop(q)
		case k < 23:
			q := m.any()
			mq := m.queues[q]
			if n := int64(len(mq.records)) - mq.start; n > 0 {
				mq.start, err = m.s.Trim(q, mq.start+m.rng.Int64N(n)/4)
			}
		case k < 50:
			tk := m.s.Append(Durable, Entry{Kind: commitlog.KindTopic, Payload: fmt.Appendf(nil, "name%d", m.rng.IntN(50))})
			<-tk.Done()
			err = tk.Err()
		case k < 53:
			err = m.s.Retain(ctx)
		case k < 58:
			err = m.s.Compact(ctx)
		case k < 61:
			err = m.s.MakeSpace(ctx)
		case k < 62:
			err = m.s.Snapshot(ctx)
		case k < 64:
			stop(t, m.s)
			m.s = startWith(t, o, nm)
		default:
			m.produce(m.any())
		}
		if err != nil {
			t.Fatalf("step %d: %v", step, err)
		}
		if step%(steps/10) == 0 {
			m.check()
		}
	}
	// The luck of the load may leave so much alive in the first segment that moving it is not worth it yet.
	for range 10 {
		for _, f := range []func(context.Context) error{m.s.Retain, m.s.Compact, m.s.MakeSpace} {
			if err := f(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if m.s.log.First() > 0 && len(m.s.cold.Segments()) > 0 {
			break
		}
		for q, mq := range m.queues {
			var err error
			if mq.start, err = m.s.Trim(q, (mq.start+int64(len(mq.records)))/2); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 100 {
		m.produce(m.any())
	}
	m.check()
	if m.s.log.First() == 0 || len(m.s.cold.Segments()) == 0 {
		t.Fatalf("the load removed nothing (the log begins at %d) or moved nothing (%d cold segments)", m.s.log.First(), len(m.s.cold.Segments()))
	}
	t.Logf("segments left: %d of %d of the log, %d of %d of the cold log", len(m.s.log.Segments()), m.s.log.Durable()/(252<<10)+1,
		len(m.s.cold.Segments()), m.s.cold.Durable()/(252<<10)+1)
	stop(t, m.s)
	m.s = startWith(t, o, nm)
	old, oldState := dump(t, m.s), maps.Clone(nm.state)
	stop(t, m.s)
	o.IndexFS = vfs.NewMem()
	nm = &names{}
	m.s = startWith(t, o, nm)
	sameIndex(t, old, dump(t, m.s))
	if !maps.Equal(nm.state, oldState) {
		t.Fatalf("machine state %v, rebuilt %v", oldState, nm.state)
	}
	m.check()
}

// TestNoSnapshot: without a whole snapshot a log that does not begin at 0 is refused, and says why.
func TestNoSnapshot(t *testing.T) {
	d, x := disk.NewMem(), vfs.NewMem()
	o := memOptions(d, x)
	s := start(t, "/data", o)
	open(t, s, forever, 1)
	for i := range 40 {
		put(t, s, 1, one(t, int64(i), strings.Repeat("v", 100<<10)))
	}
	first := s.log.Segments()[1].First
	stop(t, s)
	gone := filepath.Join("/data/log", fmt.Sprintf("%020d.log", 0))
	lost := d.Clone()
	if err := lost.Remove(gone); err != nil {
		t.Fatal(err)
	}
	o.Disk, o.IndexFS = lost, vfs.NewMem()
	s, err := Open("/data", o, quiet(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(context.Background()); err == nil || !strings.Contains(err.Error(), fmt.Sprint("before position ", first)) {
		t.Fatal(err)
	}
}

// TestDamagedSnapshot: one that does not hold is passed over for an older one.
func TestDamagedSnapshot(t *testing.T) {
	d, x := disk.NewMem(), vfs.NewMem()
	o := memOptions(d, x)
	s := start(t, "/data", o)
	open(t, s, forever, 1)
	put(t, s, 1, one(t, 1, "a"))
	if err := s.Snapshot(context.Background()); err != nil {
		t.Fatal(err)
	}
	good := *s.snapshotted.Load()
	// One without an end, and one whose parts do not give its checksum.
	h := snapHead{id: 99, position: s.applied.Load()}
	for _, f := range []struct {
		k commitlog.Kind
		p []byte
	}{
		{commitlog.KindSnapBegin, h.encode()},
		{commitlog.KindSnapPart, encodePart(99, queuesPrefix, []byte("nonsense"))},
		{commitlog.KindSnapEnd, encodeSnapEnd(99, 12345, 8)},
		{commitlog.KindSnapBegin, (&snapHead{id: 100, position: s.applied.Load()}).encode()},
	} {
		if err := s.putOne(nil, f.k, f.p); err != nil {
			t.Fatal(err)
		}
	}
	put(t, s, 1, one(t, 1, "b"))
	got, err := s.newestSnapshot(context.Background(), 0, s.log.Durable())
	if err != nil || got == nil || got.position != good.position || got.end != good.end {
		t.Fatalf("%+v, %v", got, err)
	}
}

// TestReadsSurviveMoves: readers go on while batches are moved and their segments removed under them.
func TestReadsSurviveMoves(t *testing.T) {
	d, x := disk.NewMem(), vfs.NewMem()
	s := startWith(t, memOptions(d, x), &names{})
	open(t, s, forever, 1)
	short := Policy{RetentionMs: -1, RetentionBytes: 1, Delete: true}
	open(t, s, short, 2)
	ctx := context.Background()
	done := make(chan error, 1)
	quit := make(chan struct{})
	go func() {
		for {
			select {
			case <-quit:
				done <- nil
				return
			default:
			}
			res, err := s.Read(ctx, 1<<20, Cursor{Queue: 1, MaxBytes: 1 << 20})
			if err == nil {
				if err = res.Parts[0].Err; err == nil && res.Parts[0].HighWatermark > 0 && len(res.Parts[0].Batches) == 0 {
					err = errors.New("nothing was read")
				}
				res.Release()
			}
			if err != nil {
				done <- err
				return
			}
		}
	}()
	for i := range 300 {
		put(t, s, 1, one(t, int64(i), strings.Repeat("k", 2<<10)))
		put(t, s, 2, one(t, int64(i), strings.Repeat("s", 60<<10)))
		if i%20 == 0 {
			if err := errors.Join(s.Retain(ctx), s.MakeSpace(ctx)); err != nil {
				t.Fatal(err)
			}
		}
	}
	close(quit)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if s.log.First() == 0 {
		t.Fatal("no segment was removed")
	}
	if got := values(t, s, 1, 0); len(got) != 300 {
		t.Fatalf("%d records", len(got))
	}
}

// TestRangesMayOverlap: what a round replaces is counted once, however often its ranges name it.
func TestRangesMayOverlap(t *testing.T) {
	d, x := disk.NewMem(), vfs.NewMem()
	o := memOptions(d, x)
	s := start(t, "/data", o)
	open(t, s, forever, 1)
	for i := range 10 {
		put(t, s, 1, one(t, int64(i), fmt.Sprint("v", i)))
	}
	if err := s.move(context.Background(), &round{ranges: []span{{1, 3, 4}, {1, 4, 6}, {1, 3, 3}, {1, 7, 7}, {9, 0, 5}}}, commitlog.ForFreeing); err != nil {
		t.Fatal(err)
	}
	checkShares(t, s)
	want := []string{"0=v0", "1=v1", "2=v2", "8=v8", "9=v9"}
	if got := values(t, s, 1, 0); !slices.Equal(got, want) {
		t.Fatal(got)
	}
	stop(t, s)
	o.IndexFS = vfs.NewMem()
	s = start(t, "/data", o)
	checkShares(t, s)
	if got := values(t, s, 1, 0); !slices.Equal(got, want) {
		t.Fatal(got)
	}
}

// TestRoundWithoutCommit: a round of the cold log that was cut short changes nothing.
func TestRoundWithoutCommit(t *testing.T) {
	d, x := disk.NewMem(), vfs.NewMem()
	o := memOptions(d, x)
	s := start(t, "/data", o)
	open(t, s, forever, 1)
	put(t, s, 1, one(t, 1, "stays"))
	if err := s.startCold(); err != nil {
		t.Fatal(err)
	}
	r := &round{number: 1, ranges: []span{{1, 0, 0}}}
	b := r.begin()
	if err := s.cold.Begin(commitlog.FrameSize(len(b)), true); err != nil {
		t.Fatal(err)
	}
	s.cold.Put(commitlog.KindRound, 0, b, false)
	s.cold.End()
	stop(t, s)
	o.IndexFS = vfs.NewMem()
	s = start(t, "/data", o)
	if got := values(t, s, 1, 0); !slices.Equal(got, []string{"0=stays"}) {
		t.Fatal(got)
	}
}

// TestBigTrim: more batches than one record trims go in steps, and all of them.
func TestBigTrim(t *testing.T) {
	s := start(t, "/data", memOptions(disk.NewMem(), vfs.NewMem()))
	open(t, s, forever, 1)
	var last *Ticket
	for i := range 2*retainSteps + 10 {
		last = s.Append(Durable, data(1, one(t, int64(i), "v")))
	}
	<-last.Done()
	if start, err := s.Trim(1, -1); err != nil || start != 2*retainSteps+10 {
		t.Fatal(start, err)
	}
	if n, err := s.Size(1); n != 0 || err != nil {
		t.Fatal(n, err)
	}
}
