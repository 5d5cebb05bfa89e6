package broker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/penstockio/penstock/broker/disk"
	"github.com/penstockio/penstock/internal/testenv"
)

// killsKey is the environment's name for how often the broker is crashed: `make chaos` asks for 200.
const killsKey = "PENSTOCK_KILLS"

// The topics of the harness, each written in one way.
const (
	plainTopic = "plain"       // acks=all, without idempotence
	onceTopic  = "idempotent"  // idempotent
	txnTopic   = "transaction" // in transactions, a third of them aborted
	keysTopic  = "compacted"   // one rising number a key
)

const (
	harnessPartitions = 3
	harnessKeys       = 50
)

// place is where a record stands.
type place struct {
	topic     string
	partition int32
	offset    int64
}

// maintenance makes compaction, retention and the scrubber work all the time.
var maintenance = map[string]string{
	"log.cleaner.backoff.ms": "150", "log.retention.check.interval.ms": "200", "log.scrub.io.max.bytes.per.second": "1048576",
	"log.cleaner.min.dirty.bytes": "1", "message.max.bytes": "65536", "log.segment.bytes": "1048576", // so that there is something to do
}

// times is how often the harness crashes the broker.
func times(t *testing.T) int {
	v := os.Getenv(killsKey)
	if v == "" {
		return 20
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		t.Fatalf("%s=%q: %v", killsKey, v, err)
	}
	return n
}

// TestKilled kills the broker at random points under producers of every kind, consumers and a group that commits, with
// compaction and segments going all the time. What must hold afterwards stands in check.
func TestKilled(t *testing.T) {
	runtime.LockOSThread() // the child dies with the thread that made it
	defer runtime.UnlockOSThread()
	var pairs []string
	for k, v := range maintenance {
		pairs = append(pairs, k+"="+v)
	}
	t.Setenv(childSettings, strings.Join(pairs, ","))
	dir := t.TempDir()
	c := spawn(t, dir, "127.0.0.1:0")
	defer func() { c.kill() }()
	h := newHarness(t, c.addr)
	h.through(times(t), func() {
		c.kill()
		c = spawn(t, dir, h.addr)
	})
	c.stop(t)
	c = spawn(t, dir, h.addr) // and the same after a clean stop
	h.check()
}

// TestPowerCut is TestKilled over a disk that loses what was not synced: of each page either content, of each name
// either state, at random; now and then the index is lost, too.
func TestPowerCut(t *testing.T) {
	rng := rand.New(rand.NewPCG(testenv.Seed(t), 1))
	d, x := disk.NewMem(), vfs.NewCrashableMem()
	listeners := []Listener{{Name: "PLAINTEXT", Host: "127.0.0.1"}}
	var b *Broker
	open := func() {
		all := maps.Clone(small)
		maps.Copy(all, maintenance)
		var err error
		b, err = Open(Config{DataDir: "/data", Listeners: listeners, Settings: all, disk: d, indexFS: x}, quiet(), prometheus.NewRegistry())
		if err == nil {
			err = b.Start(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	now, cancel := context.WithCancel(t.Context())
	cancel()
	cut := func() {
		lost := errors.New("the power is off")
		d.SetFault(func(op disk.Op, _ string) error { // what is being written now will not be synced
			if op == disk.OpSync {
				return lost
			}
			return nil
		})
		time.Sleep(time.Duration(rng.IntN(3)) * time.Millisecond)
		_ = b.server.Drain(now) // nobody is answered any more
		after := d.Crash(rng)
		index := x.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(100), RNG: rng})
		if rng.IntN(5) == 0 {
			index = vfs.NewCrashableMem()
		}
		_ = b.Close(now) // its disk is gone
		d, x = after, index
	}
	open()
	defer func() { stop(t, b) }()
	at, err := ParseListeners("PLAINTEXT://" + b.Addr())
	if err != nil {
		t.Fatal(err)
	}
	listeners = at
	newHarness(t, b.Addr()).through(times(t), func() {
		cut()
		open()
	})
}

// through crashes the broker so many times while every client works, and checks.
func (h *harness) through(crashes int, crash func()) {
	h.t.Helper()
	h.createTopics()
	ctx, cancel := context.WithCancel(h.t.Context())
	defer cancel()
	h.run(ctx)
	for i := range crashes {
		before := h.acks.Load()
		waitFor(h.t, "records to be acknowledged after a start", func() bool { return h.acks.Load() > before+20 || h.t.Failed() })
		time.Sleep(time.Duration(rand.IntN(150)) * time.Millisecond)
		crash()
		if h.t.Failed() {
			h.t.Fatalf("after %d crashes", i+1)
		}
	}
	cancel()
	h.wg.Wait()
	h.check()
	h.t.Logf("%d crashes, %s", crashes, h.summary())
}

// harness is the clients and what they were told.
type harness struct {
	t    *testing.T
	addr string
	acks atomic.Int64
	wg   sync.WaitGroup

	mu       sync.Mutex
	acked    map[place]string // by offset, of the plain and idempotent topics and of committed transactions
	seen     map[place]string // by consumers without transactions
	sure     map[place]string // by consumers of committed data only
	keys     map[string]int   // the highest acknowledged number
	txns     map[string]outcome
	commits  map[int32]int64 // the highest acknowledged commit of the group
	attempts map[int32]int64 // the highest ever asked for
}

// outcome of a transaction as its producer knows it.
type outcome int

const (
	unknown outcome = iota
	committed
	aborted
)

func newHarness(t *testing.T, addr string) *harness {
	return &harness{
		t: t, addr: addr, acked: map[place]string{}, seen: map[place]string{}, sure: map[place]string{}, keys: map[string]int{},
		txns: map[string]outcome{}, commits: map[int32]int64{}, attempts: map[int32]int64{},
	}
}

func (h *harness) client(opts ...kgo.Opt) *kgo.Client {
	cl, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(h.addr), kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }),
		kgo.RecordDeliveryTimeout(time.Minute), kgo.MetadataMinAge(20 * time.Millisecond),
		kgo.AlwaysRetryEOF(), // a broker that dies right after it accepted looks like one that wants TLS
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MaxBufferedRecords(200),
	}, opts...)...)
	if err != nil {
		panic(err) // the options are wrong
	}
	return cl
}

func (h *harness) createTopics() {
	cl := h.client()
	defer cl.Close()
	str := func(s string) *string { return &s }
	for topic, settings := range map[string]map[string]*string{
		plainTopic: nil, onceTopic: nil, txnTopic: nil,
		keysTopic: {"cleanup.policy": str("compact"), "min.cleanable.dirty.ratio": str("0.1")},
	} {
		if _, err := newAdmin(cl).CreateTopic(h.t.Context(), harnessPartitions, 1, settings, topic); err != nil {
			h.t.Fatal(err)
		}
	}
}

// run starts every client; they end with ctx and what they have under way.
func (h *harness) run(ctx context.Context) {
	h.wg.Go(func() {
		h.produce(ctx, plainTopic, kgo.DisableIdempotentWrite(), kgo.MaxProduceRequestsInflightPerBroker(1))
	})
	h.wg.Go(func() { h.produce(ctx, onceTopic) })
	h.wg.Go(func() { h.produce(ctx, keysTopic) })
	for i := range 2 {
		h.wg.Go(func() { h.transact(ctx, i) })
	}
	h.wg.Go(func() { h.consume(ctx, h.seen, kgo.ConsumeTopics(plainTopic, onceTopic, txnTopic)) })
	h.wg.Go(func() {
		h.consume(ctx, h.sure, kgo.ConsumeTopics(txnTopic), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	})
	h.wg.Go(func() { h.group(ctx) })
}

// produce writes numbered records to one topic, all partitions in turn.
func (h *harness) produce(ctx context.Context, topic string, opts ...kgo.Opt) {
	cl := h.client(append(opts, kgo.DefaultProduceTopic(topic))...)
	defer cl.Close()
	for i := 0; ctx.Err() == nil; i++ {
		r := &kgo.Record{Partition: int32(i % harnessPartitions), Value: fmt.Append(nil, i)}
		if topic == keysTopic {
			r.Key = fmt.Append(nil, i%harnessKeys)
			r.Partition = int32(i % harnessKeys % harnessPartitions)
		}
		cl.Produce(context.Background(), r, func(r *kgo.Record, err error) {
			if err != nil {
				h.t.Errorf("producing to %s: %v", topic, err)
				return
			}
			h.acks.Add(1)
			h.mu.Lock()
			defer h.mu.Unlock()
			if topic == keysTopic {
				h.keys[string(r.Key)] = max(h.keys[string(r.Key)], i)
				return
			}
			h.acked[place{topic, r.Partition, r.Offset}] = string(r.Value)
		})
		if i%20 == 0 {
			time.Sleep(time.Millisecond) // much is not the point, often is
		}
	}
	if err := cl.Flush(context.Background()); err != nil {
		h.t.Error(err)
	}
}

// transact writes transactions of ten records each; a new incarnation follows one that was fenced or failed.
func (h *harness) transact(ctx context.Context, producer int) {
	id := fmt.Sprintf("p%d", producer)
	cl := h.client(kgo.TransactionalID(id), kgo.DefaultProduceTopic(txnTopic), kgo.TransactionTimeout(10*time.Second))
	defer func() { cl.Close() }()
	for n := 0; ctx.Err() == nil; n++ {
		name := fmt.Sprintf("%s-%d", id, n)
		want := committed
		if n%3 == 2 {
			want = aborted
		}
		if err := h.transaction(cl, name, want); err != nil { // a crash took what was not durable
			cl.Close()
			cl = h.client(kgo.TransactionalID(id), kgo.DefaultProduceTopic(txnTopic), kgo.TransactionTimeout(10*time.Second))
		}
	}
}

// transaction writes one and notes what became of it; without an answer that is unknown, and either must do.
func (h *harness) transaction(cl *kgo.Client, name string, want outcome) error {
	if err := cl.BeginTransaction(); err != nil {
		return err
	}
	h.note(name, unknown, nil)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	records := make([]*kgo.Record, 10)
	for i := range records {
		records[i] = &kgo.Record{Partition: int32(i % harnessPartitions), Value: fmt.Appendf(nil, "%s-%d", name, i)}
	}
	perr := cl.ProduceSync(ctx, records...).FirstErr()
	if perr != nil {
		want = aborted
	}
	if err := cl.EndTransaction(ctx, kgo.TransactionEndTry(want == committed)); err != nil {
		return errors.Join(perr, err)
	}
	h.note(name, want, records)
	h.acks.Add(1)
	return perr
}

func (h *harness) note(name string, o outcome, records []*kgo.Record) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.txns[name] = o
	if o == committed {
		for _, r := range records {
			h.acked[place{txnTopic, r.Partition, r.Offset}] = string(r.Value)
		}
	}
}

// consume remembers what it is given.
func (h *harness) consume(ctx context.Context, into map[place]string, opts ...kgo.Opt) {
	cl := h.client(append(opts, kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))...)
	defer cl.Close()
	for {
		fs := cl.PollFetches(ctx)
		if ctx.Err() != nil {
			return
		}
		h.mu.Lock()
		fs.EachRecord(func(r *kgo.Record) {
			at := place{r.Topic, r.Partition, r.Offset}
			if was, ok := into[at]; ok {
				h.t.Errorf("a consumer was given %v twice, first %s, then %s", at, was, r.Value)
			}
			into[at] = string(r.Value)
		})
		h.mu.Unlock()
	}
}

// group reads the idempotent topic as a member of a group and commits what it has read.
func (h *harness) group(ctx context.Context) {
	cl := h.client(kgo.ConsumeTopics(onceTopic), kgo.ConsumerGroup("g"), kgo.DisableAutoCommit(), kgo.SessionTimeout(10*time.Second),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	defer cl.CloseAllowingRebalance()
	for {
		fs := cl.PollFetches(ctx)
		if ctx.Err() != nil {
			return
		}
		next := map[int32]int64{}
		fs.EachRecord(func(r *kgo.Record) { next[r.Partition] = r.Offset + 1 })
		h.mu.Lock()
		for p, o := range next {
			h.attempts[p] = max(h.attempts[p], o)
		}
		h.mu.Unlock()
		if err := cl.CommitRecords(ctx, fs.Records()...); err != nil {
			continue // the next commit covers it
		}
		h.mu.Lock()
		for p, o := range next {
			h.commits[p] = max(h.commits[p], o)
		}
		h.mu.Unlock()
	}
}

func (h *harness) summary() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := map[outcome]int{}
	for _, o := range h.txns {
		n[o]++
	}
	return fmt.Sprintf("%d records acknowledged, %d and %d read meanwhile; transactions: %d committed, %d aborted, %d unknown",
		h.acks.Load(), len(h.seen), len(h.sure), n[committed], n[aborted], n[unknown])
}

// log is a topic read back, by partition in order of offsets.
type log map[int32][]*kgo.Record

// read gives all of a topic. What is written last, a marker of its own, ends it.
func (h *harness) read(topic string, opts ...kgo.Opt) log {
	h.t.Helper()
	cl := h.client(append(opts, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))...)
	defer cl.Close()
	ctx, cancel := context.WithTimeout(h.t.Context(), 2*time.Minute)
	defer cancel()
	const end = "the end"
	var marks []*kgo.Record
	for p := range int32(harnessPartitions) {
		marks = append(marks, &kgo.Record{Topic: topic, Partition: p, Key: []byte(end), Value: []byte(end)})
	}
	if err := cl.ProduceSync(ctx, marks...).FirstErr(); err != nil {
		h.t.Fatal(err)
	}
	ends := map[int32]int64{}
	for _, m := range marks {
		ends[m.Partition] = m.Offset
	}
	out := log{}
	for len(ends) > 0 {
		fs := cl.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			h.t.Fatalf("reading %s back: %v", topic, err)
		}
		fs.EachRecord(func(r *kgo.Record) {
			if string(r.Value) != end {
				out[r.Partition] = append(out[r.Partition], r)
			}
			if e, ok := ends[r.Partition]; ok && r.Offset >= e {
				delete(ends, r.Partition)
			}
		})
	}
	return out
}

// check reads everything back and compares it with what the clients were told.
func (h *harness) check() {
	h.t.Helper()
	all, kept := map[place]string{}, map[place]string{}
	logs := map[string]log{}
	for _, topic := range []string{plainTopic, onceTopic, txnTopic, keysTopic} {
		logs[topic] = h.read(topic)
	}
	sure := h.read(txnTopic, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	index := func(topic string, l log, into map[place]string) {
		for p, records := range l {
			for i, r := range records {
				if i > 0 && r.Offset <= records[i-1].Offset {
					h.t.Errorf("%s/%d: offset %d behind %d", topic, p, r.Offset, records[i-1].Offset)
				}
				into[place{topic, p, r.Offset}] = string(r.Value)
			}
		}
	}
	for topic, l := range logs {
		index(topic, l, all)
	}
	index(txnTopic, sure, kept)
	h.mu.Lock()
	defer h.mu.Unlock()
	same := func(what string, told, stored map[place]string) {
		missing := 0
		for at, v := range told {
			if got, ok := stored[at]; !ok || got != v {
				if missing++; missing <= 5 {
					h.t.Errorf("%v: %s %s, the log has %q", at, what, v, got)
				}
			}
		}
		if missing > 0 {
			h.t.Errorf("%d records of which one was told (%s) are not there", missing, what)
		}
	}
	same("acknowledged", h.acked, all)
	same("a consumer was given", h.seen, all)
	same("a consumer of committed data was given", h.sure, kept)
	h.checkOnce(logs[onceTopic])
	h.checkTransactions(sure)
	h.checkKeys(logs[keysTopic])
	h.checkGroup(logs[onceTopic])
}

// checkOnce: of an idempotent producer each record is there once, in order, without a gap.
func (h *harness) checkOnce(l log) {
	for p, records := range l {
		for i, r := range records {
			if want := strconv.Itoa(int(p) + i*harnessPartitions); string(r.Value) != want {
				h.t.Errorf("%s/%d: record %d is %s, want %s", onceTopic, p, i, r.Value, want)
				return
			}
		}
	}
}

// checkTransactions: of a transaction all records are visible, each once, or none; none of an aborted one; in a partition
// transactions of one producer are in order.
func (h *harness) checkTransactions(l log) {
	visible := map[string]map[int]int{}
	for p, records := range l {
		last := map[int]int{}
		for _, r := range records {
			var producer, n, i int
			if _, err := fmt.Sscanf(string(r.Value), "p%d-%d-%d", &producer, &n, &i); err != nil {
				h.t.Errorf("a record of nobody: %q", r.Value)
				continue
			}
			if was, ok := last[producer]; ok && n < was {
				h.t.Errorf("%s/%d: transaction %d of producer %d after %d", txnTopic, p, n, producer, was)
			}
			last[producer] = n
			name := fmt.Sprintf("p%d-%d", producer, n)
			if visible[name] == nil {
				visible[name] = map[int]int{}
			}
			visible[name][i]++
		}
	}
	for name, o := range h.txns {
		v := visible[name]
		for i, n := range v {
			if n != 1 {
				h.t.Errorf("transaction %s: record %d is there %d times", name, i, n)
			}
		}
		switch {
		case o == aborted && len(v) > 0:
			h.t.Errorf("transaction %s was aborted, %d of its records are visible", name, len(v))
		case o == committed && len(v) != 10, o == unknown && len(v) != 0 && len(v) != 10:
			h.t.Errorf("transaction %s (outcome %d): %d of 10 records are visible", name, o, len(v))
		}
	}
}

// checkKeys: of each key the last number is there and is no older than the last acknowledged one; numbers rise.
func (h *harness) checkKeys(l log) {
	last := map[string]int{}
	for _, records := range l {
		for _, r := range records {
			n, err := strconv.Atoi(string(r.Value))
			if was, ok := last[string(r.Key)]; err != nil || ok && n <= was {
				h.t.Errorf("key %s: %s after %d: %v", r.Key, r.Value, was, err)
			}
			last[string(r.Key)] = n
		}
	}
	for k, n := range h.keys {
		if got, ok := last[k]; !ok || got < n {
			h.t.Errorf("key %s has %d, %d was acknowledged", k, got, n)
		}
	}
}

// checkGroup: a committed offset is no lower than the last acknowledged commit, no higher than the last asked for, and
// never ahead of the log.
func (h *harness) checkGroup(l log) {
	cl := h.client()
	defer cl.Close()
	os, err := newAdmin(cl).FetchOffsets(h.t.Context(), "g")
	if err != nil {
		h.t.Error(err)
		return
	}
	os.Each(func(o kadm.OffsetResponse) {
		end := int64(0)
		if records := l[o.Partition]; len(records) > 0 {
			end = records[len(records)-1].Offset + 1
		}
		if at := o.At; at < h.commits[o.Partition] || at > h.attempts[o.Partition] || at > end {
			h.t.Errorf("%s/%d: committed %d; acknowledged %d, asked for %d, the log ends at %d", onceTopic, o.Partition, at,
				h.commits[o.Partition], h.attempts[o.Partition], end)
		}
	})
	if len(h.commits) == 0 {
		h.t.Error("the group committed nothing")
	}
}
