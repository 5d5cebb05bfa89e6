package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/penstockio/penstock/internal/testenv"
	"github.com/penstockio/penstock/rest/api"
)

// What the suite runs.
const (
	checkedSources    = 10
	checkedSinks      = 10
	checkedPartitions = 3 // of a source when all is over
	chaosLength       = time.Minute
)

// chaos is one run of the suite.
type chaos struct {
	*fleet
	exactlyOnce bool
	dir         string // of the sinks' files
	until       time.Time

	stored map[string][]string // the last records of each source partition in the offset topic

	answers struct {
		sync.Mutex
		count map[string]int
		first map[string]string // of each kind that is an error
	}
}

// TestWorkersChaos runs checking sources and sinks on three workers that are killed, stopped, terminated and started again
// while connectors are made, deleted, paused and changed. PENSTOCK_CHAOS says how long, PENSTOCK_TEST_SEED which way.
func TestWorkersChaos(t *testing.T) { runChaos(t, false) }

// TestWorkersChaosExactlyOnce is the same with positions in the records' transactions: no number is there twice.
func TestWorkersChaosExactlyOnce(t *testing.T) { runChaos(t, true) }

func runChaos(t *testing.T, exactlyOnce bool) {
	testenv.NeedServers(t)
	seed := testenv.Seed(t)
	length := chaosLength
	if v := os.Getenv("PENSTOCK_CHAOS"); v != "" {
		var err error
		if length, err = time.ParseDuration(v); err != nil {
			t.Fatalf("PENSTOCK_CHAOS=%q: %v", v, err)
		}
	}
	t.Logf("PENSTOCK_CHAOS=%v", length)
	settings := ""
	if exactlyOnce {
		settings = "exactly.once.source.support=enabled\n"
	}
	c := &chaos{fleet: newFleet(t, 3, settings), exactlyOnce: exactlyOnce, dir: t.TempDir()}
	c.answers.count, c.answers.first = map[string]int{}, map[string]string{}
	idle := c.workers[0].weight(t)
	for i := range checkedSinks {
		if err := os.Mkdir(filepath.Join(c.dir, sinkName(i)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range c.names() {
		c.do(t, "creating "+name, func(ctx context.Context, cl *api.Client) error {
			_, err := cl.PutConfig(ctx, name, c.config(name, checkedPartitions, 3, 50))
			return err
		})
	}
	c.awaitRunning(t)
	c.note("all run; chaos begins")
	c.until = time.Now().Add(length)
	var wg sync.WaitGroup
	for i, m := range c.workers {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		wg.Go(func() { c.disturb(t, m, r, i > 0) })
	}
	const callers = 3
	for i := range callers {
		r := rand.New(rand.NewPCG(seed, uint64(100+i)))
		var mine []string
		for j, name := range c.names() {
			if j%callers == i {
				mine = append(mine, name)
			}
		}
		wg.Go(func() { c.meddle(t, mine, r) })
	}
	wg.Wait()
	c.note("chaos is over")
	c.settle(t)
	c.check(t)
	c.leave(t, idle)
}

func sourceName(i int) string { return "numbers-" + strconv.Itoa(i) }
func sinkName(i int) string   { return "seen-" + strconv.Itoa(i) }
func topicName(i int) string  { return "checked-" + strconv.Itoa(i) }

// sinkTopics are a sink's topics: one is read by two.
func sinkTopics(i int) []string {
	return []string{topicName(i % checkedSources), topicName((i + 1) % checkedSources)}
}

func (c *chaos) names() (all []string) {
	for i := range checkedSources {
		all = append(all, sourceName(i))
	}
	for i := range checkedSinks {
		all = append(all, sinkName(i))
	}
	return all
}

func (c *chaos) config(name string, partitions, tasks, rate int) config {
	kind, number, _ := strings.Cut(name, "-")
	i, _ := strconv.Atoi(number)
	cfg := config{"key.converter": stringConverter, "value.converter": stringConverter, "tasks.max": strconv.Itoa(tasks)}
	if kind == "seen" {
		maps.Copy(cfg, config{
			"connector.class": "checking-sink", "dir": filepath.Join(c.dir, name), "topics": strings.Join(sinkTopics(i), ","),
			"consumer.override.isolation.level": "read_committed", "consumer.override.metadata.max.age.ms": "1000",
		})
		return cfg
	}
	maps.Copy(cfg, config{
		"connector.class": "checking-source", "topic": topicName(i), "partitions": strconv.Itoa(partitions), "rate": strconv.Itoa(rate),
		"topic.creation.default.partitions": "3", "topic.creation.default.replication.factor": "1",
	})
	if c.exactlyOnce {
		cfg["exactly.once.support"] = "required"
		cfg["transaction.boundary"] = []string{"poll", "interval", "connector"}[i%3]
		if i%3 == 2 {
			cfg["marks"] = "10"
		}
	}
	return cfg
}

// disturb does something to a worker's process, again and again. Of one, the one that survives, the process is never ended.
func (c *chaos) disturb(t *testing.T, m *member, r *rand.Rand, end bool) {
	between := func(a, b time.Duration) time.Duration { return a + time.Duration(r.Int64N(int64(b-a))) }
	for {
		time.Sleep(between(2*time.Second, 10*time.Second))
		if time.Now().After(c.until) {
			return
		}
		switch k := r.IntN(10); {
		case k < 2:
			c.freeze(m, between(100*time.Millisecond, fleetSession/2))
		case k < 4 || !end:
			c.freeze(m, fleetSession+between(time.Second, 2*fleetSession))
		case k < 8:
			c.kill(t, m, between(0, 4*time.Second))
		default:
			c.term(t, m, between(0, 4*time.Second))
		}
	}
}

// meddle changes connectors through random workers, again and again.
func (c *chaos) meddle(t *testing.T, names []string, r *rand.Rand) {
	for time.Now().Before(c.until) {
		time.Sleep(200*time.Millisecond + time.Duration(r.Int64N(int64(time.Second))))
		m := c.any(r)
		if m == nil {
			continue
		}
		name := names[r.IntN(len(names))]
		cl := m.Client()
		what := ""
		call := func(ctx context.Context) error { return nil }
		verb := func(method, path string) {
			what = strings.TrimPrefix(path, "/")
			call = func(ctx context.Context) error { return cl.Do(ctx, method, name, path) }
		}
		switch k := r.IntN(20); {
		case k < 3:
			verb("PUT", "/pause")
		case k < 7:
			verb("PUT", "/resume")
		case k < 8:
			verb("PUT", "/stop")
		case k < 10:
			verb("POST", "/restart?includeTasks=true")
		case k < 12:
			verb("DELETE", "")
			what = "delete"
		case k < 14:
			verb("GET", "/status")
			what = "status"
		default:
			partitions, tasks, rate := 1+r.IntN(4), 1+r.IntN(4), 20+r.IntN(100)
			what = fmt.Sprintf("config partitions=%d tasks.max=%d rate=%d", partitions, tasks, rate)
			call = func(ctx context.Context) error {
				_, err := cl.PutConfig(ctx, name, c.config(name, partitions, tasks, rate))
				return err
			}
		}
		c.ask(t, m, name, what, call)
	}
}

// ask makes a call and notes how it went. A worker may be killed under it, and the connector may be deleted; a conflict is
// what a worker must not answer merely because its group changes.
func (c *chaos) ask(t *testing.T, m *member, name, what string, call func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), 95*time.Second)
	defer cancel()
	at := time.Now()
	err := call(ctx)
	answer := "done"
	if err != nil {
		answer = err.Error()
	}
	took := time.Since(at)
	c.note("%s of %s through %s: %s (%v)", what, name, m.name, answer, took.Round(time.Millisecond))
	verb, _, _ := strings.Cut(what, " ")
	kind := verb + ": " + kindOf(err)
	c.answers.Lock()
	c.answers.count[kind]++
	if err != nil && c.answers.first[kind] == "" {
		c.answers.first[kind] = fmt.Sprintf("; the first after %v: %v", took.Round(time.Millisecond), err)
	}
	c.answers.Unlock()
	if conflicted(err) {
		t.Errorf("%s of %s through %s: after %v: %v", what, name, m.name, took, err)
	}
}

// kindOf is an error without what differs each time.
func kindOf(err error) string {
	switch e, ok := err.(*api.Error); { //nolint:errorlint // what the client returns
	case err == nil:
		return "done"
	case !ok:
		return "the worker went away"
	default:
		return strconv.Itoa(e.ErrorCode)
	}
}

// settle gives every connector its last configuration, waits until all run, and stops the sources.
func (c *chaos) settle(t *testing.T) {
	t.Helper()
	c.answers.Lock()
	for _, a := range slices.Sorted(maps.Keys(c.answers.count)) {
		t.Logf("%4d x %s%s", c.answers.count[a], a, c.answers.first[a])
	}
	c.answers.Unlock()
	for _, name := range c.names() {
		c.do(t, "the last configuration of "+name, func(ctx context.Context, cl *api.Client) error {
			_, err := cl.PutConfig(ctx, name, c.config(name, 4, 3, 50))
			return err
		})
		c.do(t, "resuming "+name, func(ctx context.Context, cl *api.Client) error { return cl.Do(ctx, "PUT", name, "/resume") })
	}
	c.awaitRunning(t)
	c.note("all run again")
	time.Sleep(2 * time.Second) // each partition goes on
	for i := range checkedSources {
		name := sourceName(i)
		c.do(t, "stopping "+name, func(ctx context.Context, cl *api.Client) error { return cl.Do(ctx, "PUT", name, "/stop") })
	}
	for i := range checkedSources {
		testenv.Eventually(t, time.Minute, sourceName(i)+" is stopped", func() bool {
			st, err := c.workers[0].Client().Status(context.Background(), sourceName(i))
			return err == nil && st.Connector.State == api.Stopped && len(st.Tasks) == 0
		})
	}
	c.awaitQuiet(t)
	c.note("the sources are stopped")
}

// awaitQuiet waits until nothing is written any more: a stopped connector's tasks drain after it says so.
func (c *chaos) awaitQuiet(t *testing.T) {
	t.Helper()
	adm := kadm.NewClient(client(t, c.workers[0].Penstock))
	ends := func() int64 {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		o, err := adm.ListEndOffsets(ctx)
		if err != nil {
			t.Fatal(err)
		}
		sum := int64(0)
		o.Each(func(o kadm.ListedOffset) {
			if o.Topic == "connect-offsets" || strings.HasPrefix(o.Topic, "checked-") {
				sum += o.Offset
			}
		})
		return sum
	}
	testenv.Eventually(t, time.Minute, "the stopped sources write nothing", func() bool {
		was := ends()
		time.Sleep(time.Second)
		return ends() == was
	})
}

// awaitRunning waits until every connector and its three tasks run, as every worker says.
func (c *chaos) awaitRunning(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for _, m := range c.workers {
		for _, name := range c.names() {
			for {
				st, err := m.Client().Status(context.Background(), name)
				ok := err == nil && st.Connector.State == api.Running && len(st.Tasks) == 3
				for _, task := range st.Tasks {
					ok = ok && task.State == api.Running
				}
				if ok {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("%s does not run, as %s says: %+v, %v", name, m.name, st, err)
				}
				time.Sleep(50 * time.Millisecond)
			}
		}
	}
}

// check compares positions, topics and what the sinks saw.
func (c *chaos) check(t *testing.T) {
	t.Helper()
	var topics []string
	for i := range checkedSources {
		topics = append(topics, topicName(i))
	}
	c.neverBack(t)
	have := readTopics(t, c.broker.Addr, topics...)
	total, repeats := 0, 0
	for i := range checkedSources {
		var stored api.OffsetsInfo
		c.do(t, "the positions of "+sourceName(i), func(ctx context.Context, cl *api.Client) (err error) {
			stored, err = cl.Offsets(ctx, sourceName(i))
			return err
		})
		at := positions(t, stored)
		got := inOrder(t, have, topicName(i))
		for p, row := range got {
			total += int(row.next)
			repeats += row.repeats
			if at[p] != row.next {
				t.Errorf("%s, partition %s: its position is %d, its topic has %d numbers; stored were, at last, %v", sourceName(i), p, at[p], row.next,
					last(c.stored[fmt.Sprintf(`["%s",{"checked":"%s"}]`, sourceName(i), p)], 6))
			}
			if c.exactlyOnce && row.repeats > 0 {
				t.Errorf("%s, partition %s: %d numbers are there again, exactly once was asked for", sourceName(i), p, row.repeats)
			}
		}
		if len(got) != 4 {
			t.Errorf("%s: %d partitions have numbers, want 4", topicName(i), len(got))
		}
	}
	t.Logf("%d numbers, %d of them again", total, repeats)
	c.awaitSinks(t, have)
	lines, records := 0, 0
	for i := range checkedSinks {
		saw, n := readSink(t, filepath.Join(c.dir, sinkName(i)))
		lines += n
		records += missed(t, sinkName(i), saw, have, sinkTopics(i))
	}
	t.Logf("the sinks saw %d records, %d of them again", records, lines-records)
}

func last(list []string, n int) []string { return list[max(0, len(list)-n):] }

// neverBack checks that a worker that lost a task wrote no position after the one that has it: neither the epoch of a task,
// which is one transactional id, nor a position goes back, also where a change of configuration gives a partition to another
// task. (What compaction took away would only have been more to check.)
func (c *chaos) neverBack(t *testing.T) {
	t.Helper()
	at, epochs := map[string]int64{}, map[[2]int64]int16{}
	c.stored = map[string][]string{}
	back := 0
	readCommitted(t, c.broker.Addr, []string{"connect-offsets"}, func(r *kgo.Record) {
		var pos struct{ Next int64 }
		if r.Value == nil || json.Unmarshal(r.Value, &pos) != nil {
			return
		}
		key := string(r.Key)
		who := [2]int64{r.ProducerID, int64(r.Partition)} // only within a partition records are in order
		if r.ProducerEpoch < epochs[who] {
			t.Errorf("offset %d of connect-offsets-%d: producer %d wrote with epoch %d after %d", r.Offset, r.Partition, r.ProducerID, r.ProducerEpoch, epochs[who])
		}
		epochs[who] = max(epochs[who], r.ProducerEpoch)
		if pos.Next < at[key] {
			if back++; back <= 3 {
				t.Errorf("offset %d of connect-offsets-%d, at %s: the position of %s goes back from %d to %d", r.Offset, r.Partition,
					r.Timestamp.Format("15:04:05.000"), key, at[key], pos.Next)
			}
		}
		at[key] = pos.Next
		c.stored[key] = append(c.stored[key], fmt.Sprintf("%s %s", r.Timestamp.Format("15:04:05.000"), r.Value))
	})
	if back > 3 {
		t.Errorf("positions went back %d times", back)
	}
}

// awaitSinks waits until the sinks' groups have committed the topics' ends.
func (c *chaos) awaitSinks(t *testing.T, have seen) {
	t.Helper()
	adm := kadm.NewClient(client(t, c.workers[0].Penstock))
	for i := range checkedSinks {
		var behind []string
		deadline := time.Now().Add(time.Minute)
		for {
			behind = nil
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			o, err := adm.FetchOffsets(ctx, "connect-"+sinkName(i))
			cancel()
			if err != nil {
				t.Fatal(err)
			}
			for tp, rows := range have {
				got, _ := o.Lookup(tp.topic, tp.partition)
				if slices.Contains(sinkTopics(i), tp.topic) && got.At < int64(len(rows)) {
					behind = append(behind, fmt.Sprintf("%s-%d: %d of %d", tp.topic, tp.partition, got.At, len(rows)))
				}
			}
			if len(behind) == 0 {
				break
			}
			if time.Now().After(deadline) {
				t.Errorf("%s has not committed the ends of its topics: %s; its group: %s", sinkName(i), strings.Join(behind, ", "),
					described(t, adm, "connect-"+sinkName(i)))
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
}

// described tells who has which partitions in a consumer group.
func described(t *testing.T, adm *kadm.Client, group string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	all, err := adm.DescribeGroups(ctx, group)
	if err != nil {
		return err.Error()
	}
	g := all[group]
	text := g.State
	for _, m := range g.Members {
		text += "; " + m.MemberID + ": "
		if a, ok := m.Assigned.AsConsumer(); ok {
			text += fmt.Sprint(a.Topics)
		}
	}
	return text
}

// leave deletes all connectors, and looks at what the worker that lived through all of it holds, and at what is left when the
// workers have gone.
func (c *chaos) leave(t *testing.T, idle weight) {
	t.Helper()
	for _, name := range c.names() {
		c.do(t, "deleting "+name, func(ctx context.Context, cl *api.Client) error { return cl.Delete(ctx, name) })
	}
	const slack = 12 // connections to other workers and to the broker, some goroutines each
	var now weight
	deadline := time.Now().Add(90 * time.Second)
	for now = c.workers[0].weight(t); now.goroutines > idle.goroutines+slack || now.files > idle.files+slack; now = c.workers[0].weight(t) {
		if time.Now().After(deadline) {
			t.Errorf("%s: without connectors it holds %+v, before the first one it held %+v", c.workers[0].name, now, idle)
			break
		}
		time.Sleep(500 * time.Millisecond)
	}
	t.Logf("%s: idle at first %+v, at last %+v", c.workers[0].name, idle, now)
	for _, m := range c.workers {
		if err := m.Stop(); err != nil {
			t.Error(err)
		}
	}
	for _, m := range c.workers {
		c.gone(t, m, c.plugins(t, m))
	}
}
