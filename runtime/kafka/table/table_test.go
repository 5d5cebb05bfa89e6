package table

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"github.com/penstockio/penstock/runtime/kafka"
)

func cluster(t *testing.T, opts ...kfake.Opt) *kafka.Clients {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	cl, err := kafka.New(kafka.Config{Bootstrap: c.ListenAddrs()}, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return cl
}

func open(t *testing.T, cl *kafka.Clients, parts int32, apply func(*kgo.Record)) *Table {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	tb, err := Open(ctx, cl, Spec{Topic: kafka.TopicSpec{Name: "tab", Partitions: parts, Replication: 1}, Apply: apply}, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return tb
}

func TestWritesAreAppliedAndSurvive(t *testing.T) {
	cl := cluster(t)
	ctx := context.Background()
	var mu sync.Mutex
	collect := func(into map[string]string) func(*kgo.Record) {
		return func(r *kgo.Record) { mu.Lock(); into[string(r.Key)] = string(r.Value); mu.Unlock() }
	}
	first := map[string]string{}
	tb := open(t, cl, 3, collect(first))
	var rows []Record
	for i := range 50 {
		rows = append(rows, Record{Key: fmt.Appendf(nil, "k%d", i%10), Value: fmt.Appendf(nil, "v%d", i)})
	}
	if err := tb.WriteApplied(ctx, rows...); err != nil {
		t.Fatal(err)
	}
	if first["k3"] != "v43" || len(first) != 10 {
		t.Fatalf("after WriteApplied: %v", first)
	}
	tb.Close()

	second := map[string]string{}
	tb = open(t, cl, 3, collect(second))
	defer tb.Close()
	if len(second) != 10 || second["k9"] != "v49" {
		t.Fatalf("after reopening: %v", second)
	}
}

func TestAnUncompactedTopicIsRefused(t *testing.T) {
	cl := cluster(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	adm, err := cl.Admin("test", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer adm.Close()
	if _, err := kafka.EnsureTopic(ctx, adm, kafka.TopicSpec{Name: "tab", Partitions: 1, Replication: 1, Settings: map[string]string{"cleanup.policy": "delete"}}); err != nil {
		t.Fatal(err)
	}
	_, err = Open(ctx, cl, Spec{Topic: kafka.TopicSpec{Name: "tab", Partitions: 1, Replication: 1}, Apply: func(*kgo.Record) {}}, slog.Default())
	if err == nil || !strings.Contains(err.Error(), "cleanup.policy=delete") {
		t.Fatalf("got %v, want a refusal that names the policy", err)
	}
}

// TestPartitionsThatMustBe: a topic that is there with other partitions than its table can live with is refused, with both numbers.
func TestPartitionsThatMustBe(t *testing.T) {
	cl := cluster(t, kfake.SeedTopics(3, "tab"))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	adm, err := cl.Admin("test", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer adm.Close()
	compact := "compact"
	if _, err := adm.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Name: "cleanup.policy", Value: &compact}}, "tab"); err != nil {
		t.Fatal(err)
	}
	_, err = Open(ctx, cl, Spec{Topic: kafka.TopicSpec{Name: "tab", Partitions: 1, Replication: 1}, MustHave: true, Apply: func(*kgo.Record) {}}, slog.Default())
	if err == nil || !strings.Contains(err.Error(), "topic tab has 3 partitions but must have exactly 1") {
		t.Fatalf("got %v, want a refusal that names the partitions", err)
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	cl := cluster(t)
	before := goleak.IgnoreCurrent()
	tb := open(t, cl, 1, func(*kgo.Record) {})
	if err := tb.WriteApplied(context.Background(), Record{Key: []byte("a")}); err != nil {
		t.Fatal(err)
	}
	tb.Close()
	goleak.VerifyNone(t, before, goleak.IgnoreAnyFunction("github.com/twmb/franz-go/pkg/kfake.(*clientConn).read"), goleak.IgnoreAnyFunction("github.com/twmb/franz-go/pkg/kfake.(*clientConn).write"))
}
