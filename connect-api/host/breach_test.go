package host

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc/mem"

	"github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/connect-api/connectpb"
)

// A batch is decoded in Recv, not where it is received: a plugin's breach shows there, and ends the stream for its reason.
func TestBreachInABatchEndsTheStream(t *testing.T) {
	encode := func(f *connectpb.Frame) []byte {
		f.Field, f.IsBatch = connectpb.SourceBatchField, true
		out, err := connectpb.Codec{}.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		return out.Materialize()
	}
	rows := func() []byte { return []byte{5, 1, 0, 0, 0, 0, 0} }
	for _, c := range []struct {
		name string
		raw  []byte
		says string
	}{
		{"a gap", encode(&connectpb.Frame{ID: 2, Count: 1, Rows: rows()}), "batch 2 came after 0"},
		{"a position behind the rows", encode(&connectpb.Frame{ID: 1, Count: 1, Rows: rows(), Positions: []*connectpb.Position{{Rows: 2}}}), "batch 1: "},
		{"garbage", []byte{byte(connectpb.SourceBatchField)<<3 | 2, 2, 0x08, 0x80}, "EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &Source{dir: connectapi.NewDirectory(), batches: make(chan *SourceBatch, 1)}
			s.p, s.name, s.ended = &Process{}, "c/0", make(chan struct{})
			s.p.opts.MaxMessageBytes = 1 << 20
			s.ctx, s.cancel = context.WithCancelCause(context.Background())
			defer s.cancel(errClosed)
			f := s.next()
			if err := (connectpb.Codec{}).Unmarshal(mem.BufferSlice{mem.SliceBuffer(c.raw)}, f); err != nil {
				t.Fatal(err)
			}
			if err := s.handle(f); err != nil {
				t.Fatal(err)
			}
			_, err := s.Recv(context.Background())
			if err == nil || !strings.Contains(err.Error(), "task c/0 broke the protocol") || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("%v", err)
			}
			if cause := context.Cause(s.ctx); cause != err { //nolint:errorlint // the value itself
				t.Fatalf("the stream ended for: %v", cause)
			}
		})
	}
}
