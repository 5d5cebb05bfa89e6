package broker

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"net"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"github.com/penstockio/penstock/broker/kafka"
)

func TestMain(m *testing.M) {
	if childBroker() {
		return
	}
	goleak.VerifyTestMain(m)
}

// small are settings for tests: little disk, short sessions.
var small = map[string]string{
	"log.segment.bytes":            "8388608",
	"message.max.bytes":            "1048576",
	"group.min.session.timeout.ms": "100",
	"log.tail.bytes":               "2097152",
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// start runs a broker over dir on a free port until the test ends.
func start(t testing.TB, dir string, settings map[string]string) *Broker {
	t.Helper()
	return startFor(t, dir, settings, nil)
}

// startFor is start with somebody who says who may do what.
func startFor(t testing.TB, dir string, settings map[string]string, auth kafka.Authorizer) *Broker {
	t.Helper()
	all := maps.Clone(small)
	maps.Copy(all, settings)
	ls := []Listener{{Name: "PLAINTEXT", Host: "127.0.0.1"}}
	b, err := Open(Config{DataDir: dir, Listeners: ls, Settings: all, authorizer: auth}, quiet(), prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, b) })
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b
}

func stop(t testing.TB, b *Broker) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := b.Close(ctx); err != nil {
		t.Error(err)
	}
}

// client makes a kgo client of a broker that is closed with the test.
func client(t testing.TB, b *Broker, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(b.Addr()), kgo.AllowAutoTopicCreation()}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

func newAdmin(cl *kgo.Client) *kadm.Client { return kadm.NewClient(cl) }

func admin(t testing.TB, b *Broker) *kadm.Client { return newAdmin(client(t, b)) }

// inside dials a broker over the connection inside the process.
func inside(b *Broker) kgo.Opt {
	return kgo.Dialer(func(ctx context.Context, _, _ string) (net.Conn, error) { return b.Dial(ctx, "User:test") })
}

// within gives a context for one step of a test.
func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// consume reads n records from the start of a topic.
func consume(t testing.TB, b *Broker, topic string, n int, opts ...kgo.Opt) []*kgo.Record {
	t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(b.Addr()), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx := within(t, 30*time.Second)
	var out []*kgo.Record
	for len(out) < n {
		fs := cl.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			t.Fatalf("after %d of %d records: %v", len(out), n, err)
		}
		out = append(out, fs.Records()...)
	}
	return out
}
