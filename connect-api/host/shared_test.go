package host_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/connect-api/host"
)

// Rows arrive whole whichever way they take: in slots of shared memory, in messages because they are few or have outgrown their
// slot, or all in messages; also those that a task keeps until it commits. Slots come back, but for one whose rows are kept.
func TestRowsComeWholeByEveryWay(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Log("no memory is shared here: all rows go through the socket")
	}
	sizes := [][]int{{100}, {20_000, 3}, {400_000, 0, 400_000}, {600_000, 500_000}, {1_200_000}, {1_000_000, 1_000_000}, {3_000_000}, {15_000}}
	for _, c := range []struct {
		name   string
		config map[string]string
		alone  bool // nothing is shared
		lost   int  // slots that never come back
	}{
		{name: "slots"},
		{name: "messages", alone: true},
		{name: "kept", config: map[string]string{"holds": "true"}},
		{name: "kept late", config: map[string]string{"holds": "true", "late": "true"}, lost: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.alone {
				host.ShareNothing(t)
			}
			shares := !c.alone && runtime.GOOS == "linux"
			ctx := within(t, 120*time.Second)
			dir := t.TempDir()
			config := map[string]string{"dir": dir}
			for k, v := range c.config {
				config[k] = v
			}
			s := openSink(t, ctx, start(t), config)
			flushed := flushes(ctx, s)
			if err := s.Assign(connectapi.Offsets{tp: 0}); err != nil {
				t.Fatal(err)
			}
			if shares {
				waitSlots(t, s, host.SlotCount)
			}
			want := map[string]string{}
			b := s.NewBatch()
			filled := 0
			for round := range 8 {
				for _, batch := range sizes {
					if b.Shared() {
						filled++
					}
					for _, size := range batch {
						off := int64(len(want))
						v := bytes.Repeat([]byte{byte('a' + off%26)}, size)
						if err := b.Append(route("t", ""), 5, off, nil, v, connectapi.Header{Name: "h", Value: connectapi.NewValue(connectapi.StringSchema, []byte("x"))}); err != nil {
							t.Fatal(err)
						}
						want[fmt.Sprintf("t-3-%d", off)] = fmt.Sprintf("%x", sha256.Sum256(v))
					}
					if err := s.Send(ctx, b, connectapi.Offsets{tp: int64(len(want))}); err != nil {
						t.Fatal(err)
					}
				}
				if round%2 == 1 { // twice without a batch between them: the memory of free slots goes
					for range 2 {
						if err := s.Flush(true); err != nil {
							t.Fatal(err)
						}
						wait(t, ctx, flushed)
					}
				}
			}
			for name, sum := range want {
				if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != sum {
					t.Fatalf("record %s: %s, want %s, %v", name, got, sum, err)
				}
			}
			if !shares {
				if filled > 0 || s.Slots() > 0 {
					t.Fatalf("%d batches were filled in memory that is not shared", filled)
				}
				return
			}
			if filled < len(sizes)*8/2 {
				t.Fatalf("only %d batches were filled in shared memory", filled)
			}
			for range 40 { // the plugin grants when half of the slots are due, or so many bytes
				if err := b.Append(route("t", ""), 5, 1<<40, nil, make([]byte, 1<<19)); err != nil {
					t.Fatal(err)
				}
				if err := s.Send(ctx, b, connectapi.Offsets{tp: 1 << 40}); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Flush(true); err != nil {
				t.Fatal(err)
			}
			wait(t, ctx, flushed)
			waitSlots(t, s, host.SlotCount/2-1-c.lost)
		})
	}
}

// flushes receives events, and tells of each Flushed.
func flushes(ctx context.Context, s *host.Sink) <-chan struct{} {
	flushed := make(chan struct{}, 64)
	go func() {
		for {
			e, err := s.Recv(ctx)
			if err != nil {
				return
			}
			if _, ok := e.(*host.Flushed); ok {
				flushed <- struct{}{}
			}
		}
	}()
	return flushed
}

func wait(t *testing.T, ctx context.Context, flushed <-chan struct{}) {
	t.Helper()
	select {
	case <-flushed:
	case <-ctx.Done():
		t.Fatal("no flush was answered")
	}
}

// waitSlots waits until at least n slots are free.
func waitSlots(t *testing.T, s *host.Sink, n int) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); s.Slots() < n; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d slots are free, want %d", s.Slots(), n)
		}
	}
}
