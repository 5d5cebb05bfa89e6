package kafka

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"
)

var errRefused = &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}

// TestDialsAreSpaced: attempts at an address that fails come ever slower, those at another do not wait for them, and one that
// succeeds starts anew.
func TestDialsAreSpaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down, began := true, time.Now()
		d := newSpacedDialer(func(_ context.Context, _, address string) (net.Conn, error) {
			if address == "down" && down {
				return nil, errRefused
			}
			here, there := net.Pipe()
			_ = there.Close()
			return here, nil
		})
		dial := func(address string) (at time.Duration, err error) {
			conn, err := d.DialContext(t.Context(), "tcp", address)
			if err == nil {
				_ = conn.Close()
			}
			return time.Since(began), err
		}
		ms := time.Millisecond
		for i, want := range []time.Duration{0, 0, 50 * ms, 150 * ms, 350 * ms, 750 * ms, 1550 * ms, 2550 * ms, 3550 * ms} {
			if at, err := dial("down"); at != want || !errors.Is(err, errRefused) {
				t.Errorf("attempt %d: %v after %v, want it refused after %v", i, err, at, want)
			}
		}
		if at, err := dial("up"); at != 3550*ms || err != nil {
			t.Errorf("another address: %v after %v", err, at)
		}
		down = false
		if at, err := dial("down"); at != 4550*ms || err != nil {
			t.Errorf("up again: %v after %v", err, at)
		}
		down = true
		for range 2 {
			if at, _ := dial("down"); at != 4550*ms {
				t.Errorf("down anew: refused after %v", at)
			}
		}
	})
}

// TestADialThatWaitsEndsWithItsContext, and says how the last one failed; one that its context ended counts for nothing.
func TestADialThatWaitsEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := false
		d := newSpacedDialer(func(ctx context.Context, _, _ string) (net.Conn, error) {
			if hangs {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return nil, errRefused
		})
		for range 8 {
			_, _ = d.DialContext(t.Context(), "tcp", "down") // refused
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := d.DialContext(ctx, "tcp", "down"); !errors.Is(err, errRefused) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		hangs = true
		ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, _ = d.DialContext(ctx, "tcp", "other") // hangs
		if len(d.failed) != 1 {
			t.Errorf("what is remembered: %v", d.failed)
		}
	})
}

// TestATransactionDoesNotSpin while its broker is down: the client library, left alone, tries thousands of times a second to add
// a partition to one.
func TestATransactionDoesNotSpin(t *testing.T) {
	beforeKIP890 := kfake.MaxVersions(kversion.V3_6_0()) // later ones add a partition with its first records
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "t"), beforeKIP890)
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	var dials atomic.Int64
	var lines atomic.Int64
	clients, err := New(Config{Bootstrap: cluster.ListenAddrs(), Dialer: func(ctx context.Context, network, address string) (net.Conn, error) {
		dials.Add(1)
		return new(net.Dialer).DialContext(ctx, network, address)
	}}, slog.New(slog.NewTextHandler(counter{&lines}, nil)))
	if err != nil {
		t.Fatal(err)
	}
	cl, err := clients.Fenced("t", nil, "id")
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	commit := func() error {
		if err := cl.BeginTransaction(); err != nil {
			return err
		}
		if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "t", Partition: 0, Value: []byte("x")}).FirstErr(); err != nil {
			return err
		}
		return cl.EndTransaction(t.Context(), kgo.TryCommit)
	}
	if err := commit(); err != nil {
		t.Fatal(err)
	}
	cluster.Close()
	dials.Store(0)
	lines.Store(0)
	if err := cl.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	cl.Produce(t.Context(), &kgo.Record{Topic: "t", Partition: 0, Value: []byte("y")}, nil)
	for dials.Load() < 5 {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(2 * time.Second)
	// Each of the client's connections (three at most are wanted here) may be tried so often.
	most := int64(3 * (8 + time.Since(began)/lastDialPause))
	if n := dials.Load(); n > most {
		t.Errorf("%d attempts in %v, want %d at most", n, time.Since(began), most)
	}
	if n := lines.Load(); n > 30 {
		t.Errorf("%d lines of log in %v", n, time.Since(began))
	}
}

// counter counts lines.
type counter struct{ n *atomic.Int64 }

func (c counter) Write(b []byte) (int, error) {
	c.n.Add(int64(strings.Count(string(b), "\n")))
	return len(b), nil
}

// TestInProcessHasNoTLS: a dialer inside the process and TLS exclude each other, and the error names the key.
func TestInProcessHasNoTLS(t *testing.T) {
	_, err := New(Config{
		Bootstrap: []string{"127.0.0.1:1"}, Props: map[string]string{"security.protocol": "SSL"}, Dialer: new(net.Dialer).DialContext,
	}, slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "security.protocol=SSL") {
		t.Errorf("got %v", err)
	}
}
