package lake

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/internal/testenv"
)

func durable(o connectapi.Offsets) int64 {
	at, ok := o[connectapi.TopicPartition{Topic: "t"}]
	if !ok {
		return -1
	}
	return at
}

func TestRotatesByRows(t *testing.T) {
	dir := t.TempDir()
	h := newHarness(t, "location", "file://"+dir, "flush.size", "4")
	h.assign("t", 0, 0)
	h.write(strs(0, 10)...)
	if got := durable(h.commit(false)); got != 8 {
		t.Fatalf("offset %d is said to be durable, 8 is", got)
	}
	visible := func() (out []string) {
		for _, n := range names(t, dir) {
			if !strings.HasPrefix(n, unfinished) {
				out = append(out, n)
			}
		}
		return out
	}
	if got := visible(); !slices.Equal(got, []string{"t/partition=0/t+0+0000000000.parquet", "t/partition=0/t+0+0000000004.parquet"}) {
		t.Fatal(got)
	}
	if got := durable(h.commit(true)); got != 10 {
		t.Fatalf("offset %d is durable after all was asked for", got)
	}
	wantNames(t, dir, "t/partition=0/t+0+0000000000.parquet", "t/partition=0/t+0+0000000004.parquet", "t/partition=0/t+0+0000000008.parquet")
	checkStrs(t, dir, 10)
}

// checkStrs says that the values of strs(0, n) are there, each in one file alone.
func checkStrs(t *testing.T, dir string, n int) {
	t.Helper()
	rows, err := testenv.ReadLakeAll(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != n {
		t.Fatalf("%d rows, want %d", len(rows), n)
	}
	for i, r := range rows {
		if r.Topic != "t" || r.Offset != int64(i) || r.Columns["value"] != fmt.Sprint("v", i) {
			t.Fatalf("row %d: %+v", i, r)
		}
	}
}

func TestRotatesByBytes(t *testing.T) {
	dir := t.TempDir()
	h := newHarness(t, "location", dir, "rotate.bytes", "10")
	h.assign("t", 0, 0)
	h.write(strs(0, 10)...) // two bytes each
	if got := durable(h.commit(false)); got != 10 {
		t.Fatalf("durable: %d", got)
	}
	wantNames(t, dir, "t/partition=0/t+0+0000000000.parquet", "t/partition=0/t+0+0000000005.parquet")
}

// Record time cuts at the first record that is a span behind the file's first, late ones do not.
func TestRotatesByRecordTime(t *testing.T) {
	dir := t.TempDir()
	h := newHarness(t, "location", dir, "rotate.interval.ms", "60000", "timestamp.extractor", "Record")
	h.assign("t", 0, 0)
	recs := strs(0, 6)
	for i, at := range []int{0, 59, 60, 10, 119, 120} { // seconds
		recs[i].at = start.Add(time.Duration(at) * time.Second)
	}
	h.write(recs...)
	if got := durable(h.commit(false)); got != 5 {
		t.Fatalf("durable: %d", got)
	}
	h.commit(true)
	wantNames(t, dir, "t/partition=0/t+0+0000000000.parquet", "t/partition=0/t+0+0000000002.parquet", "t/partition=0/t+0+0000000005.parquet")
}

func TestRotatesBySchedule(t *testing.T) {
	dir := t.TempDir()
	h := newHarness(t, "location", dir, "rotate.schedule.interval.ms", "600000", "timezone", "Asia/Kathmandu")
	h.assign("t", 0, 0)
	h.clock = time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC) // 12:53:09 there: the next boundary is 13:00, 07:15 here
	h.write(strs(0, 2)...)
	h.clock = time.Date(2024, 5, 6, 7, 14, 59, 0, time.UTC)
	if got := durable(h.commit(false)); got != 0 {
		t.Fatalf("durable before the boundary: %d", got)
	}
	h.clock = time.Date(2024, 5, 6, 7, 15, 0, 0, time.UTC)
	h.write(strs(2, 4)...) // a write behind the boundary ends the files before it
	if got := durable(h.commit(false)); got != 2 {
		t.Fatalf("durable behind the boundary: %d", got)
	}
	h.clock = h.clock.Add(10 * time.Minute)
	if got := durable(h.commit(false)); got != 4 {
		t.Fatalf("durable behind the second boundary: %d", got)
	}
	wantNames(t, dir, "t/partition=0/t+0+0000000000.parquet", "t/partition=0/t+0+0000000002.parquet")
}

func TestRotatesWhenIdle(t *testing.T) {
	dir := t.TempDir()
	h := newHarness(t, "location", dir, "rotate.schedule.interval.ms", "-1", "rotate.idle.ms", "5000")
	h.assign("t", 0, 0)
	for i := range int64(3) {
		h.write(strs(i, i+1)...)
		h.clock = h.clock.Add(4 * time.Second)
		if got := durable(h.commit(false)); got != 0 {
			t.Fatalf("durable while records come: %d", got)
		}
	}
	h.clock = h.clock.Add(time.Second)
	if got := durable(h.commit(false)); got != 3 {
		t.Fatalf("durable when idle: %d", got)
	}
	wantNames(t, dir, "t/partition=0/t+0+0000000000.parquet")
}

// The clock's rotation needs no record and no commit interval: the task asks for a commit.
func TestClockAsksForCommit(t *testing.T) {
	h := &fakeHost{}
	task, err := open(config(t, "location", t.TempDir(), "rotate.idle.ms", "20", "rotate.schedule.interval.ms", "-1"), h, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	x := &harness{t: t, task: task, host: h}
	x.assign("t", 0, 0)
	x.write(strs(0, 1)...)
	for deadline := time.Now().Add(10 * time.Second); h.commits.Load() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no commit was asked for")
		}
	}
	if got := durable(x.commit(false)); got != 1 {
		t.Fatalf("durable: %d", got)
	}
	if err := task.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// Versions of a schema that interleave share two files, not one a change.
func TestInterleavedSchemas(t *testing.T) {
	dir := t.TempDir()
	h := newHarness(t, "location", dir, "flush.size", "100")
	v1 := connectapi.NewStruct("v").Field("a", connectapi.Int32Schema).MustBuild()
	v2 := connectapi.NewStruct("v").Field("a", connectapi.Int32Schema).Field("b", connectapi.OptionalStringSchema).MustBuild()
	h.assign("t", 0, 0)
	var recs []rec
	for i := range int64(100) {
		s := v1
		if i%2 == 1 {
			s = v2
		}
		v := connectapi.NewStructValue(s)
		v.SetAt(0, int32(i))
		recs = append(recs, rec{topic: "t", offset: i, schema: s, value: v})
	}
	h.write(recs...)
	wantNames(t, dir, "t/partition=0/t+0+0000000000.parquet", "t/partition=0/t+0+0000000001.parquet")
	rows, err := testenv.ReadLake(dir)
	if err != nil || len(rows) != 100 || rows[99].Columns["a"] != int64(99) {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
}

// Memory and the number of open files are bounded whatever the number of folders; nothing is lost by it.
func TestBudgets(t *testing.T) {
	dir := t.TempDir()
	h := newHarness(t, "location", dir, "partitioner.class", "FieldPartitioner", "partition.field.name", "f",
		"buffer.bytes", "1048576", "partitioner.max.open.files", "20")
	s := connectapi.NewStruct("v").Field("f", connectapi.Int32Schema).Field("pad", connectapi.StringSchema).MustBuild()
	h.assign("t", 0, 0)
	offset := int64(0)
	for range 10 {
		var recs []rec
		for i := range 50 {
			v := connectapi.NewStructValue(s)
			v.SetAt(0, int32(i))
			v.SetAt(1, fmt.Sprintf("%d %s", offset, strings.Repeat("x", 2000)))
			recs = append(recs, rec{topic: "t", offset: offset, schema: s, value: v})
			offset++
		}
		h.write(recs...)
		if h.task.open > 20 || h.task.buffered() > 1<<20 {
			t.Fatalf("%d files open, %d bytes buffered", h.task.open, h.task.buffered())
		}
	}
	if got := durable(h.commit(true)); got != offset {
		t.Fatalf("durable: %d of %d", got, offset)
	}
	rows, err := testenv.ReadLakeAll(dir)
	if err != nil || int64(len(rows)) != offset {
		t.Fatalf("%d rows of %d, %v", len(rows), offset, err)
	}
}

// What memory does not hold is written as row groups, and the file is still one.
func TestSpillsRowGroups(t *testing.T) {
	dir := t.TempDir()
	h := newHarness(t, "location", dir, "buffer.bytes", "1048576", "parquet.codec", "none")
	h.assign("t", 0, 0)
	for i := range int64(20) {
		recs := strs(i*100, i*100+100)
		for j := range recs {
			recs[j].value = fmt.Sprintf("%d %s", recs[j].offset, strings.Repeat("y", 2000))
		}
		h.write(recs...)
		if n := h.task.buffered(); n > 1<<20 {
			t.Fatalf("%d bytes are buffered", n)
		}
	}
	h.commit(true)
	wantNames(t, dir, "t/partition=0/t+0+0000000000.parquet")
	rows, err := testenv.ReadLakeFile(filepath.Join(dir, "t/partition=0/t+0+0000000000.parquet"))
	if err != nil || len(rows) != 2000 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
}
