package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/penstockio/penstock/internal/testenv"
)

// What each client's script leaves in its topic: transactions of two producers, interleaved, one of them aborting, and one
// that was taken over.
var (
	txCommitted = func() (all []string) {
		for r := range 5 {
			for i := range 4 {
				all = append(all, fmt.Sprintf("c-%d-%d", r, i))
			}
		}
		return append(all, "c-second")
	}()
	txAll = func() (all []string) {
		for r := range 5 {
			for i := range 4 {
				all = append(all, fmt.Sprintf("a-%d-%d", r, i), fmt.Sprintf("c-%d-%d", r, i))
			}
		}
		return append(all, "a-fenced", "c-second")
	}()
)

// TestTransactionsOfAllClients: Apache Kafka's Java clients, librdkafka and franz-go each write transactions and read what
// all three wrote; what was aborted is invisible under read_committed and there under read_uncommitted.
func TestTransactionsOfAllClients(t *testing.T) {
	t.Parallel()
	s := server(t)
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	topics := []string{"tx-franz", "tx-rdkafka", "tx-java"}
	adm := kadm.NewClient(client(t, s))
	for _, r := range must(adm.CreateTopics(ctx, 1, 1, nil, append(topics, "tx-hangs")...)) {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	franzTransactions(ctx, t, s, "tx-franz")
	hangs := txnClient(t, s, "hangs")
	if err := hangs.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := hangs.ProduceSync(ctx, &kgo.Record{Topic: "tx-hangs", Value: []byte("for ever")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	interpreter, err := testenv.Python("confluent_kafka")
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(testenv.Root(), "internal/e2e/testdata/python/transactions.py")
	python := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(ctx, interpreter, append([]string{script}, args...)...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("running librdkafka: %v\n%s", err, stderr.String())
		}
		return string(out)
	}
	said := map[string]string{"librdkafka": python("write", s.Broker, "tx-rdkafka")}
	java := testenv.KafkaTool(ctx, t, filepath.Join(testenv.Root(), "internal/e2e/testdata/java/Transactions.java"), s.Broker, "tx-java",
		strings.Join(topics, ","), "hangs", "tx-hangs")
	var stderr bytes.Buffer
	java.Stderr = &stderr
	out, err := java.Output()
	if err != nil {
		t.Fatalf("running the Java clients: %v\n%s", err, stderr.String())
	}
	said["Java"] = string(out)
	said["librdkafka"] += python("read", s.Broker, strings.Join(topics, ","))
	for _, topic := range topics {
		said["franz-go"] += readLevels(ctx, t, s, topic)
	}
	want := []string{"group 104", "fenced true"}
	for who, said := range said {
		lines := want
		if who == "franz-go" {
			lines = nil // it was checked where it wrote
		}
		for _, topic := range topics {
			lines = append(lines,
				"read_committed "+topic+" "+strings.Join(txCommitted, ","),
				"read_uncommitted "+topic+" "+strings.Join(txAll, ","))
		}
		if who == "Java" {
			lines = append(lines, "described Ongoing [tx-hangs-0] true", "producing true true", "stable true")
		}
		for _, line := range lines {
			if !strings.Contains("\n"+said, "\n"+line+"\n") {
				t.Errorf("%s did not say\n%s\nbut\n%s", who, line, said)
			}
		}
	}
	if !strings.Contains(said["Java"], "\nopen ") || !strings.Contains(said["Java"], "hangs") {
		t.Errorf("Java's admin did not list the open transaction: %s", said["Java"])
	}
	if err := hangs.EndTransaction(ctx, kgo.TryCommit); err == nil {
		t.Error("who was fenced committed")
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func txnClient(t testing.TB, s *testenv.Penstock, id string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	return client(t, s, append([]kgo.Opt{kgo.TransactionalID(id), kgo.ProducerLinger(0)}, opts...)...)
}

// franzTransactions does what the scripts do.
func franzTransactions(ctx context.Context, t *testing.T, s *testenv.Penstock, topic string) {
	t.Helper()
	send := func(cl *kgo.Client, value string) error {
		return cl.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte(value)}).FirstErr()
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	good, bad := txnClient(t, s, topic+"-good"), txnClient(t, s, topic+"-bad")
	for r := range 5 {
		check(good.BeginTransaction())
		check(bad.BeginTransaction())
		for i := range 4 {
			check(send(bad, fmt.Sprintf("a-%d-%d", r, i)))
			check(send(good, fmt.Sprintf("c-%d-%d", r, i)))
		}
		end := func() { check(good.EndTransaction(ctx, kgo.TryCommit)) }
		if r%2 == 1 {
			end()
		}
		check(bad.EndTransaction(ctx, kgo.TryAbort))
		if r%2 == 0 {
			end()
		}
	}
	first := txnClient(t, s, topic+"-fenced")
	check(first.BeginTransaction())
	check(send(first, "a-fenced"))
	second := txnClient(t, s, topic+"-fenced")
	check(second.BeginTransaction())
	check(send(second, "c-second"))
	check(second.EndTransaction(ctx, kgo.TryCommit))
	if err := send(first, "a-late"); !errors.Is(err, kerr.InvalidProducerEpoch) && !errors.Is(err, kerr.ProducerFenced) {
		t.Errorf("who was fenced produced: %v", err)
	}
}

// readLevels reads a topic with both isolation levels.
func readLevels(ctx context.Context, t *testing.T, s *testenv.Penstock, topic string) string {
	t.Helper()
	var out strings.Builder
	for _, level := range []struct {
		name string
		opt  kgo.Opt
		n    int
	}{
		{"read_committed", kgo.FetchIsolationLevel(kgo.ReadCommitted()), len(txCommitted)},
		{"read_uncommitted", kgo.FetchIsolationLevel(kgo.ReadUncommitted()), len(txAll)},
	} {
		cl := client(t, s, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), level.opt)
		var got []string
		for len(got) < level.n {
			fs := cl.PollFetches(ctx)
			if err := fs.Err(); err != nil {
				t.Fatalf("%s of %s, after %d records: %v", level.name, topic, len(got), err)
			}
			for _, r := range fs.Records() {
				got = append(got, string(r.Value))
			}
		}
		fmt.Fprintf(&out, "%s %s %s\n", level.name, topic, strings.Join(got, ","))
	}
	return out.String()
}
