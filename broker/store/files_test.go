package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/sys/unix"

	"github.com/penstockio/penstock/broker/batch"
	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/disk"
)

// TestBatchesFromFiles reads small and large batches, of two queues side by side, as bytes and as pieces of files: what
// arrives is the same.
func TestBatchesFromFiles(t *testing.T) {
	for name, o := range map[string]Options{"disk": {}, "memory": memOptions(disk.NewMem(), vfs.NewMem())} {
		t.Run(name, func(t *testing.T) {
			s := start(t, t.TempDir(), o)
			open(t, s, forever, 1, 2)
			sizes := []int{100, 60_000, 40_000, 32 << 10, 10, 10, 200_000, 70_000}
			files := 0
			for i := range 400 {
				size := sizes[i%len(sizes)]
				put(t, s, ID(1+i%3%2), one(t, int64(i), string(bytes.Repeat([]byte{byte(i)}, size))))
			}
			near, far := pair(t)
			for q := ID(1); q <= 2; q++ {
				for from := int64(0); ; {
					c := Cursor{Queue: q, Offset: from, MaxBytes: 1 << 20}
					plain, err := s.Read(context.Background(), 1<<20, c)
					if err != nil || plain.Parts[0].Err != nil {
						t.Fatal(err, plain.Parts[0].Err)
					}
					want := plain.Parts[0].Batches
					if len(want) == 0 {
						break
					}
					c.Files = true
					res, err := s.Read(context.Background(), 1<<20, c)
					if err != nil || res.Parts[0].Err != nil {
						t.Fatal(err, res.Parts[0].Err)
					}
					p := &res.Parts[0]
					if n, held := p.Size(); n != len(want) || held > n {
						t.Fatalf("%d bytes, %d of them in memory, want %d", n, held, len(want))
					}
					got := append([]byte(nil), p.Batches...)
					for i := range p.Pieces {
						if x := &p.Pieces[i]; x.Bytes != nil {
							got = append(got, x.Bytes...)
							continue
						}
						files++
						got = append(got, receive(t, near, far, &p.Pieces[i])...)
					}
					if !bytes.Equal(got, want) {
						t.Fatalf("from offset %d of queue %d something else arrived", from, q)
					}
					for rest := batch.Batch(want); len(rest) > 0; rest = rest[rest.Size():] {
						from = rest[:rest.Size()].LastOffset() + 1
					}
					res.Release()
					plain.Release()
				}
			}
			if files < 100 { // some may have left the page cache
				t.Fatalf("%d batches were in their files", files)
			}
		})
	}
}

// pair is a connection to ourselves.
func pair(t *testing.T) (near *net.TCPConn, far net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	nc, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if far, err = ln.Accept(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []net.Conn{nc, far} {
		t.Cleanup(func() { c.Close() })
		if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	return nc.(*net.TCPConn), far
}

// receive sends a piece in two halves and gives what arrived.
func receive(t *testing.T, near *net.TCPConn, far net.Conn, p *Piece) []byte {
	t.Helper()
	sent := make(chan error, 1)
	go func() {
		half := p.Size() / 2
		err := p.Range.SendTo(near, 0, half)
		if err == nil {
			err = p.Range.SendTo(near, half, p.Size()-half)
		}
		sent <- err
	}()
	got := make([]byte, p.Size())
	if _, err := io.ReadFull(far, got); err != nil {
		t.Fatal(err)
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	return got
}

// TestDamageIsFoundAgain: batches that were written, and so may be sent as they are, are looked at again once they come from
// the disk, or once the scrubber has found damage: the one that was damaged is answered as such, the others are served.
func TestDamageIsFoundAgain(t *testing.T) {
	for name, find := range map[string]func(s *Store, f *os.File) error{
		"read from the disk": func(_ *Store, f *os.File) error {
			return errors.Join(f.Sync(), unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED))
		},
		"scrubbed": func(s *Store, _ *os.File) error { return s.Scrub(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := start(t, dir, Options{SegmentBytes: 8 << 20, MaxMessageBytes: 1 << 20, TailBytes: 1 << 20, ScrubBytes: -1})
			open(t, s, forever, 1)
			for i := range 250 {
				put(t, s, 1, one(t, int64(i), string(bytes.Repeat([]byte{byte(i)}, 60_000))))
			}
			f, err := os.OpenFile(filepath.Join(dir, "log", fmt.Sprintf("%020d.log", 0)), os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			content, err := io.ReadAll(f)
			if err != nil {
				t.Fatal(err)
			}
			at := bytes.Index(content, bytes.Repeat([]byte{50}, 1000))
			if _, err := f.WriteAt([]byte{51}, int64(at)+20_000); err != nil {
				t.Fatal(err)
			}
			if err := find(s, f); err != nil {
				t.Fatal(err)
			}
			for i := range int64(60) {
				res, err := s.Read(context.Background(), 1<<20, Cursor{Queue: 1, Offset: i, MaxBytes: 1, Files: true})
				if err != nil {
					t.Fatal(err)
				}
				var bad *commitlog.CorruptError
				if p := &res.Parts[0]; errors.As(p.Err, &bad) != (i == 50) || p.Err == nil && len(p.Batches)+len(p.Pieces) == 0 {
					t.Fatalf("offset %d: %v, %d bytes and %d pieces", i, p.Err, len(p.Batches), len(p.Pieces))
				}
				res.Release()
			}
		})
	}
}
