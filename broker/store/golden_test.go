package store

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/penstockio/penstock/broker/batch"
	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/disk"
)

// The golden data directory holds every kind of frame this version writes, and one that only a later version knows. It is
// never written anew: every later version must open it and give the same content. -update writes it only if it is missing.
const (
	goldenDir     = "testdata/data-v1.zip"
	goldenContent = "testdata/data-v1.txt"
)

func goldenOptions(d disk.FS) Options {
	o := memOptions(nil, vfs.NewMem())
	o.Disk = d
	o.SegmentBytes, o.MaxMessageBytes, o.ZeroFillAfter = 64<<10, 16<<10, -1
	return o
}

// writeGolden makes a directory with everything in it.
func writeGolden(t *testing.T, d disk.FS) {
	ctx := context.Background()
	o := goldenOptions(d)
	s := startWith(t, o, &names{})
	open(t, s, forever, 1)
	open(t, s, Policy{RetentionMs: -1, RetentionBytes: 4 << 10, Delete: true, AppendTime: true}, 2)
	open(t, s, Policy{Compact: true, RetentionMs: -1, RetentionBytes: -1, TombstoneMs: 1 << 40, Dirty: 1}, 3)
	open(t, s, forever, 4)
	name := func(n string) {
		tk := s.Append(Durable, Entry{Kind: commitlog.KindTopic, Payload: []byte(n)}, Entry{Kind: commitlog.KindTopic, Payload: []byte(n + "'")})
		if <-tk.Done(); tk.Err() != nil {
			t.Fatal(tk.Err())
		}
	}
	name("first")
	rec := func(c batch.Codec, pid int64, seq int32, txn bool, key, value string) batch.Batch {
		bd := batch.Builder{Codec: c, Transactional: txn}
		if pid >= 0 {
			bd.Producer(pid, 0, seq)
		}
		r := batch.Record{Time: 1_700_000_000_000 + int64(seq), Key: []byte(key), Value: []byte(value), Headers: []batch.Header{{Key: "h", Value: []byte("x")}}}
		if value == "" {
			r.Value = nil
		}
		b, err := bd.Add(r).Build()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for i := range int32(30) {
		put(t, s, 1, rec(batch.Codec(i%5), 7, i, false, fmt.Sprint("k", i), strings.Repeat("one", 300)))
		put(t, s, 2, rec(batch.None, -1, i, false, fmt.Sprint("k", i), strings.Repeat("two", 500)))
		put(t, s, 3, rec(batch.Codec(i%5), -1, i, false, fmt.Sprint("k", i%4), fmt.Sprint("version ", i)))
		put(t, s, 4, rec(batch.None, 9, i, true, fmt.Sprint("k", i), "in a transaction"))
		if i%5 == 4 {
			put(t, s, 4, marker(9, 0, i%10 == 4))
		}
	}
	put(t, s, 3, rec(batch.None, -1, 1, false, "k1", ""))
	put(t, s, 3, rec(batch.None, -1, 2, false, "k9", "the last"))
	put(t, s, 4, rec(batch.None, 9, 30, true, "k", "left open"))
	open(t, s, forever, 5)
	put(t, s, 5, one(t, 1, "dropped"))
	if err := s.Drop(5); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Trim(1, 3); err != nil {
		t.Fatal(err)
	}
	for _, f := range []func(context.Context) error{s.Retain, s.Compact, s.MakeSpace, s.Snapshot} {
		if err := f(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.ExpireProducers(ctx, 1<<60); err != nil {
		t.Fatal(err)
	}
	for i := range int64(60) {
		put(t, s, 1, one(t, 1_700_000_001_000+i, strings.Repeat("more", 500)))
	}
	if err := s.putOne(nil, 0xfe, []byte("of a later version")); err != nil {
		t.Fatal(err)
	}
	stop(t, s)
	s = startWith(t, o, &names{})
	name("second")
	put(t, s, 1, one(t, 5, "after a restart"))
	stop(t, s)
}

// content lists what a store gives, record by record.
func content(t *testing.T, s *Store, m *names) string {
	t.Helper()
	var out strings.Builder
	for _, q := range slices.Sorted(slices.Values(s.table.IDs())) {
		h, err := s.Head(q)
		if err != nil {
			t.Fatal(err)
		}
		_, p, _ := s.table.Get(q)
		fmt.Fprintf(&out, "queue %d: start %d stable %d end %d, compact %v delete %v bytes %d append time %v\n",
			q, h.LogStart, h.LastStable, h.HighWatermark, p.Compact, p.Delete, p.RetentionBytes, p.AppendTime)
		got := fetched(t, s, q, h.LogStart)
		for _, off := range slices.Sorted(maps.Keys(got)) {
			fmt.Fprintf(&out, "%d %q = %.40q\n", off, got[off].key, got[off].value)
		}
		if seen := visible(t, s, q, h.LogStart); len(seen) != len(got) {
			fmt.Fprintf(&out, "committed: %v\n", slices.Sorted(maps.Keys(seen)))
		}
		list, err := s.Producers(q)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range list {
			fmt.Fprintf(&out, "producer %d epoch %d sequence %d open %d\n", p.ID, p.Epoch, p.LastSequence, p.Open)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(m.state)) {
		fmt.Fprintf(&out, "name %s\n", n)
	}
	return out.String()
}

// unzip fills a file system with the golden directory.
func unzip(t *testing.T) *disk.Mem {
	t.Helper()
	r, err := zip.OpenReader(goldenDir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	d := disk.NewMem()
	for _, zf := range r.File {
		in, err := zf.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		f, err := d.Create(filepath.Join("/data", zf.Name))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt(b, 0); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func zipUp(t *testing.T, d *disk.Mem) {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, dir := range []string{"", "log", "log/cold"} {
		list, err := d.List(filepath.Join("/data", dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range list {
			if n != "meta" && !strings.HasSuffix(n, ".log") {
				continue
			}
			b, err := disk.ReadFile(d, filepath.Join("/data", dir, n), 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			f, err := w.Create(filepath.Join(dir, n))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.Write(b); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(goldenDir, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestGoldenDirectory(t *testing.T) {
	if _, err := os.Stat(goldenDir); os.IsNotExist(err) && *update {
		d := disk.NewMem()
		writeGolden(t, d)
		zipUp(t, d)
	}
	ctx := context.Background()
	d := unzip(t)
	kinds := map[commitlog.Kind]int{}
	o := goldenOptions(d)
	tool, err := openOffline("/data", o, quiet())
	if err != nil {
		t.Fatal(err)
	}
	count := func(f commitlog.Frame) { kinds[f.Kind]++ }
	main, err := tool.log.Verify(ctx, count)
	if err != nil || len(main.Damage) > 0 || main.Skipped != 1 {
		t.Fatalf("%+v, %v", main, err)
	}
	if cold, err := tool.cold.Verify(ctx, count); err != nil || len(cold.Damage) > 0 {
		t.Fatalf("%+v, %v", cold, err)
	}
	stop(t, tool)
	for _, k := range []commitlog.Kind{
		commitlog.KindPad, commitlog.KindEpoch, commitlog.KindData, commitlog.KindLogStart, commitlog.KindQueue, commitlog.KindExpired,
		commitlog.KindTopic, commitlog.KindRound, commitlog.KindCopied, commitlog.KindCommit, commitlog.KindSynced, commitlog.KindClosed,
		commitlog.KindFooter, commitlog.KindSnapBegin, commitlog.KindSnapPart, commitlog.KindSnapEnd, 0xfe,
	} {
		if kinds[k] == 0 {
			t.Errorf("the golden directory has no frame of kind 0x%02x", byte(k))
		}
	}
	m := &names{}
	s := startWith(t, o, m)
	got := content(t, s, m)
	if _, err := os.Stat(goldenContent); os.IsNotExist(err) && *update {
		if err := os.WriteFile(goldenContent, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(goldenContent)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Fatalf("the golden directory gives\n%s\nwant\n%s", got, want)
	}
	put(t, s, 1, one(t, 5, "and it goes on"))
}

// TestGoldenDirectoryOfOthers puts behind the golden directory's end what a later version might have written.
func TestGoldenDirectoryOfOthers(t *testing.T) {
	table := crc32.MakeTable(crc32.Castagnoli)
	frame := func(kind, flags byte, pos int64, epoch uint32, ext string, payload string) []byte {
		b := make([]byte, 40+len(ext), 128)
		b[0], b[1], b[2], b[3] = 0xb7, byte(len(b)/8), kind, flags
		binary.BigEndian.PutUint32(b[4:], uint32(len(payload)))
		binary.BigEndian.PutUint32(b[12:], epoch)
		binary.BigEndian.PutUint64(b[16:], uint64(pos))
		binary.BigEndian.PutUint32(b[28:], crc32.Checksum([]byte(payload), table))
		copy(b[40:], ext)
		sum := crc32.Update(crc32.Checksum(b[:8], table), table, b[12:])
		binary.BigEndian.PutUint32(b[8:], sum)
		return append(b, payload...)
	}
	for _, c := range []struct {
		name        string
		kind, flags byte
		ext, want   string
	}{
		{name: "an extension", kind: 0x10, ext: "tenant=1"},
		{name: "a skippable kind", kind: 0xfd},
		{name: "a critical kind", kind: 0x7e, want: "kind 0x7e"},
		{name: "a link", kind: 0x06, want: "link"},
		{name: "a punch", kind: 0x07, want: "punch"},
		{name: "a compressed payload", kind: 0x10, flags: commitlog.FlagZstd, want: "compressed"},
		{name: "an encrypted payload", kind: 0x10, flags: commitlog.FlagEncrypted, want: "encrypted"},
		{name: "an unknown flag", kind: 0x10, flags: 0x80, want: "flags 0x80"},
		{name: "a kind of no machine here", kind: 0x12, want: "no machine is registered for frames of kind 0x12"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := unzip(t)
			o := goldenOptions(d)
			tool, err := openOffline("/data", o, quiet())
			if err != nil {
				t.Fatal(err)
			}
			r, err := tool.log.Verify(context.Background(), nil)
			if err != nil {
				t.Fatal(err)
			}
			sg, _ := tool.log.SegmentOf(r.End)
			epoch := tool.meta.Epoch
			stop(t, tool)
			scribble(t, d, fmt.Sprintf("/data/log/%020d.log", sg.First), 4096+r.End-sg.First, string(frame(c.kind, c.flags, r.End, epoch, c.ext, "")))
			s, err := Open("/data", o, quiet(), nil)
			if err != nil {
				t.Fatal(err)
			}
			m := &names{}
			s.Register(m, 'm', commitlog.KindTopic)
			err = s.Start(context.Background())
			switch {
			case c.want != "":
				if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), fmt.Sprint(r.End)) {
					t.Fatalf("%v, want it to name %q and position %d", err, c.want, r.End)
				}
			case err != nil:
				t.Fatal(err)
			default:
				want, err := os.ReadFile(goldenContent)
				if err != nil {
					t.Fatal(err)
				}
				got := strings.ReplaceAll(content(t, s, m), "name \n", "") // the record with the extension is an empty name
				if got != string(want) {
					t.Fatalf("%s\nwant\n%s", got, want)
				}
				stop(t, s)
			}
		})
	}
}

// TestGoldenRecords holds the payloads of the store's own frames.
func TestGoldenRecords(t *testing.T) {
	r := round{
		number: 4096, asOf: 1 << 30, ranges: []span{{7, 10, 20}, {8, 0, 5}}, cleaned: []mark{{7, 21}}, markers: []mark{{7, 15}},
		copies: make([]copied, 3),
	}
	h := snapHead{id: 77, position: 1 << 30, epoch: 3, time: 1_700_000_000_000, machines: []snapMachine{{queuesPrefix, 1}, {'m', 2}}}
	var out strings.Builder
	for _, x := range []struct {
		name string
		b    []byte
	}{
		{"round", r.begin()},
		{"commit", r.commit()},
		{"snapshot begin", h.encode()},
		{"snapshot part", encodePart(77, 'm', []byte("data"))},
		{"snapshot end", encodeSnapEnd(77, 0xdeadbeef, 4)},
	} {
		fmt.Fprintf(&out, "%-14s %x\n", x.name, x.b)
	}
	const path = "testdata/records.txt"
	if *update {
		if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || out.String() != string(want) {
		t.Fatalf("the format changed:\n%s\nwas:\n%s%v", out.String(), want, err)
	}
	back, err := decodeRound(r.begin())
	if err != nil || back.number != r.number || back.asOf != r.asOf || !slices.Equal(back.ranges, r.ranges) || !slices.Equal(back.cleaned, r.cleaned) || !slices.Equal(back.markers, r.markers) {
		t.Fatalf("%+v, %v", back, err)
	}
	if got, err := decodeSnapHead(h.encode()); err != nil || got.id != h.id || got.position != h.position || got.epoch != h.epoch || got.time != h.time || !slices.Equal(got.machines, h.machines) {
		t.Fatalf("%+v, %v", got, err)
	}
}

func FuzzRecords(f *testing.F) {
	r := round{number: 1, asOf: 2, ranges: []span{{7, 10, 20}}, cleaned: []mark{{7, 21}}, markers: []mark{{7, 15}}}
	f.Add(r.begin())
	f.Add(r.commit())
	f.Add((&snapHead{id: 1, position: 2, machines: []snapMachine{{'h', 1}}}).encode())
	f.Add(encodePart(1, 'm', []byte("x")))
	f.Add(encodeSnapEnd(1, 2, 3))
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := decodeRound(b); err == nil {
			for _, x := range union(r.ranges) {
				if x.to < x.from {
					t.Fatalf("%+v", x)
				}
			}
			if back, err := decodeRound(r.begin()); err != nil || !slices.Equal(back.ranges, r.ranges) {
				t.Fatalf("%+v became %+v, %v", r, back, err)
			}
		}
		if h, err := decodeSnapHead(b); err == nil {
			if back, err := decodeSnapHead(h.encode()); err != nil || !slices.Equal(back.machines, h.machines) {
				t.Fatalf("%+v became %+v, %v", h, back, err)
			}
		}
		_, _, _ = decodeCommit(b)
		_, _, _, _ = decodePart(b)
		_, _, _, _ = decodeSnapEnd(b)
	})
}
