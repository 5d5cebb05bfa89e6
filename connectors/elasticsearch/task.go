package elasticsearch

import (
	"cmp"
	"context"
	"hash/maphash"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/penstockio/penstock/connect-api"
)

// task is a sink task. The SDK calls its methods from one goroutine; lanes have one each.
type task struct {
	set    *settings
	host   connectapi.SinkContext
	log    *slog.Logger
	client *client
	trans  *transcoder
	index  *indices
	lanes  []*lane
	track  *tracker
	budget *budget
	limit  *limiter

	longPause  time.Duration // the first pause before what somebody must do something about
	stuckAfter time.Duration // how long Commit of all waits while nothing moves

	bulkBytes atomic.Int64 // bulk.size.bytes, or less where the server takes less
	hurry     atomic.Int32 // above 0: lanes do not linger
	counters  counters

	ctx     context.Context
	stop    context.CancelFunc
	workers sync.WaitGroup

	failOnce sync.Once
	failed   chan struct{}
	failure  error

	waitMu sync.Mutex
	waitOf map[int]string
	asked  time.Time // when the host was last asked for a commit

	anyFailed atomic.Bool // since then

	failer          connectapi.Record // any record: how to fail one
	seed            maphash.Seed
	document, lines []byte
}

var (
	_ connectapi.Committer = (*task)(nil)
	_ connectapi.Assigner  = (*task)(nil)
)

func open(cfg Config, host connectapi.SinkContext) (*task, error) {
	set, err := check(cfg)
	if err != nil {
		return nil, err
	}
	c, err := newClient(set, set.urls)
	if err != nil {
		return nil, err
	}
	t := &task{
		set: set, host: host, log: host.Log(), client: c, trans: newTranscoder(set), track: newTracker(),
		budget: newBudget(int(set.Buffered), int(set.BufferBytes)), limit: newLimiter(int(set.InFlight)),
		longPause: longPause, stuckAfter: stuckAfter, failed: make(chan struct{}), waitOf: map[int]string{}, seed: maphash.MakeSeed(),
	}
	t.index = &indices{t: t, ready: map[string]map[uint64]bool{}}
	t.bulkBytes.Store(set.BulkBytes)
	t.ctx, t.stop = context.WithCancel(context.Background()) // ends with Close
	for i := range int(set.InFlight) {
		l := newLane(t, i)
		t.lanes = append(t.lanes, l)
		t.workers.Add(1)
		go func() {
			defer t.workers.Done()
			l.run(t.ctx)
		}()
	}
	return t, nil
}

// Write takes records; they are durable when Commit says so. It waits while the task holds as much as it may (I5).
func (t *task) Write(ctx context.Context, rs *connectapi.Records) error {
	if err := t.err(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(t.ctx, cancel)() // a failed lane ends waits here
	b := t.track.begin()
	var tp connectapi.TopicPartition
	next := int64(-1)
	for r := range rs.All() {
		if o := r.Original; o.Topic != tp.Topic || o.Partition != tp.Partition {
			if next >= 0 {
				b.next[tp] = next
			}
			tp = connectapi.TopicPartition{Topic: o.Topic, Partition: o.Partition}
		}
		next = r.Original.Offset + 1
		if err := t.take(ctx, r, b); err != nil {
			if own := t.err(); own != nil {
				return own
			}
			return err
		}
	}
	if next >= 0 {
		b.next[tp] = next
	}
	b.done(1)
	if t.anyFailed.Load() {
		t.tellFailures()
	}
	return nil
}

// askEvery bounds how often the host is asked for a commit because records failed.
const askEvery = 200 * time.Millisecond

// tellFailures asks for a commit, by which the host learns of failed records, instead of at the next interval.
func (t *task) tellFailures() {
	t.waitMu.Lock()
	due := time.Since(t.asked) >= askEvery
	if due {
		t.asked = time.Now()
		t.anyFailed.Store(false)
	}
	t.waitMu.Unlock()
	if due {
		t.host.RequestCommit()
	}
}

// take puts one record into its lane. An error is the task's.
func (t *task) take(ctx context.Context, r *connectapi.Record, b *batch) error {
	a, err := t.trans.action(r)
	if err == errSkip {
		return nil
	}
	t.document = t.document[:0]
	if err == nil && a.op != opDelete {
		t.document, err = t.trans.appendDocument(t.document, r.Value)
	}
	if err != nil {
		t.invalid(r, err)
		return nil
	}
	if a.op != opDelete {
		s := r.Value.Schema()
		if t.set.ignoresSchema(r.Topic) {
			s = nil
		}
		if err := t.index.ensure(ctx, a.index, s); err != nil {
			return err
		}
	}
	t.lines = a.append(t.lines[:0], t.document, int(min(t.set.InFlight, 5)))
	if err := t.reserve(ctx, len(t.lines)); err != nil {
		return err
	}
	if t.failer.Original.Topic == "" {
		t.failer = *r
		t.failer.Key, t.failer.Value, t.failer.Headers = connectapi.Value{}, connectapi.Value{}, connectapi.Headers{}
	}
	b.pending.Add(1)
	t.laneOf(&a).add(item{index: a.index, id: a.id, op: a.op, versioned: a.versioned, origin: r.Original, batch: b}, t.lines)
	if cap(t.lines) > 1<<20 && len(t.lines) < 64<<10 {
		t.lines, t.document = nil, nil
	}
	return nil
}

func (t *task) laneOf(a *action) *lane {
	if len(t.lanes) == 1 {
		return t.lanes[0]
	}
	var h maphash.Hash
	h.SetSeed(t.seed)
	_, _ = h.WriteString(a.index)
	_ = h.WriteByte(0)
	_, _ = h.WriteString(a.id)
	return t.lanes[h.Sum64()%uint64(len(t.lanes))]
}

// reserve waits for room.
func (t *task) reserve(ctx context.Context, n int) error {
	if t.budget.try(n) {
		return nil
	}
	defer t.push()()
	for !t.budget.try(n) {
		select {
		case <-t.budget.given:
		case <-t.failed:
			return t.failure
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// push makes lanes send what they have, until the function it returns is called.
func (t *task) push() (end func()) {
	t.hurry.Add(1)
	for _, l := range t.lanes {
		l.nudge()
	}
	return func() { t.hurry.Add(-1) }
}

const (
	longPause = time.Second
	// stuckAfter is how long a Commit of all waits while nothing moves because the server is away: then what is durable is
	// said, and the rest comes again elsewhere.
	stuckAfter = 5 * time.Second
)

func (t *task) pause() pause { return pause{first: t.set.Backoff, long: t.longPause} }

// Commit says below which offsets everything is durable.
func (t *task) Commit(ctx context.Context, all bool) (connectapi.Offsets, error) {
	if err := t.err(); err != nil {
		return nil, err
	}
	t.report()
	o, idle, moved := t.track.state()
	if !all || idle {
		return o, nil
	}
	defer t.push()()
	for !idle {
		stuck := time.NewTimer(t.stuckAfter)
		select {
		case <-moved:
		case <-t.failed:
		case <-ctx.Done():
		case <-stuck.C:
			if t.waiting() != "" {
				stuck.Stop()
				o, _, _ = t.track.state()
				return o, t.err()
			}
		}
		stuck.Stop()
		if err := cmp.Or(t.err(), ctx.Err()); err != nil {
			return nil, err
		}
		o, idle, moved = t.track.state()
	}
	return o, nil
}

// Assigned begins where the host says.
func (t *task) Assigned(context.Context, connectapi.Offsets) (connectapi.Offsets, error) {
	return nil, nil
}

// Revoked drops what waits of partitions that another task has now.
func (t *task) Revoked(_ context.Context, gone []connectapi.TopicPartition, _ bool) error {
	t.track.revoke(gone)
	return nil
}

// Close ends the lanes. What was not committed was not said to be durable.
func (t *task) Close(context.Context) error {
	t.stop()
	t.workers.Wait()
	t.client.close()
	return nil
}

// fail makes the next call of the host fail.
func (t *task) fail(err error) {
	t.failOnce.Do(func() {
		t.failure = err
		close(t.failed)
		t.stop()
		t.host.RequestCommit() // its answer brings the error
	})
}

func (t *task) err() error {
	select {
	case <-t.failed:
		return t.failure
	default:
		return nil
	}
}

// invalid deals with a record that cannot become a document.
func (t *task) invalid(r *connectapi.Record, err error) {
	if !t.set.DropInvalid {
		r.Fail(connectapi.DataError(err))
		t.anyFailed.Store(true)
		return
	}
	o := r.Original
	t.log.Warn("dropped a record (drop.invalid.message)", "topic", o.Topic, "partition", o.Partition, "offset", o.Offset, "error", err.Error())
}

// malformed deals with a document that Elasticsearch refuses.
func (t *task) malformed(it *item, err error) {
	t.counters.malformed.Add(1)
	switch t.set.onMalformed {
	case "fail":
		t.failItem(it, err)
	case "warn":
		t.log.Warn("dropped a document (behavior.on.malformed.documents)", "topic", it.origin.Topic, "partition", it.origin.Partition, "offset", it.origin.Offset, "error", err.Error())
	}
}

// failItem fails the record an item came from.
func (t *task) failItem(it *item, err error) {
	r := t.failer
	r.Original = it.origin
	r.Topic, r.Partition, r.Offset = it.origin.Topic, it.origin.Partition, it.origin.Offset
	r.Fail(connectapi.DataError(err))
	t.anyFailed.Store(true)
}

// shrink remembers that the server takes smaller requests only.
func (t *task) shrink(to int64) {
	to = max(to, leastBulkBytes)
	for {
		now := t.bulkBytes.Load()
		if to >= now {
			return
		}
		if t.bulkBytes.CompareAndSwap(now, to) {
			t.log.Warn("Elasticsearch takes smaller requests only (its http.max_content_length): lower bulk.size.bytes", "bytes", to)
			return
		}
	}
}

// waits says what a lane waits for; empty: nothing.
func (t *task) waits(lane int, why string) {
	if t.anyFailed.Load() {
		t.tellFailures()
	}
	t.waitMu.Lock()
	before := t.waitOf[lane]
	if why == "" {
		delete(t.waitOf, lane)
	} else {
		t.waitOf[lane] = why
	}
	first := before == "" && why != "" && len(t.waitOf) == 1
	t.waitMu.Unlock()
	if first {
		t.log.Warn("waiting: nothing is lost", "for", why)
	}
	t.report()
}

// waiting returns what the task waits for: of several lanes, the first's.
func (t *task) waiting() string {
	t.waitMu.Lock()
	defer t.waitMu.Unlock()
	for i := notWorker; i < len(t.lanes); i++ {
		if why := t.waitOf[i]; why != "" {
			return why
		}
	}
	return ""
}

func (t *task) report() { t.host.Report(t.waiting(), t.metrics()) }
