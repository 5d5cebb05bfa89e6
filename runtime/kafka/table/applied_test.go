package table

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/penstockio/penstock/runtime/kafka"
)

// TestWhatIsWrittenNeedsNoAnswerMore: the broker goes away when it has taken a row, and comes back: the row is there, and its
// writer is not told otherwise.
func TestWhatIsWrittenNeedsNoAnswerMore(t *testing.T) {
	c, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	clients, err := kafka.New(kafka.Config{Bootstrap: c.ListenAddrs()}, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	live := &content{rows: map[string]string{}}
	tb := open(t, clients, 1, live.apply)
	defer tb.Close()
	c.ControlKey(int16(kmsg.ListOffsets), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		return nil, errors.New("away"), true
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := tb.WriteApplied(ctx, Record{Key: []byte("k"), Value: []byte("v")}); err != nil {
		t.Fatal(err)
	}
	if got := live.get()["k"]; got != "v" {
		t.Fatalf("it is %q", got)
	}
}
