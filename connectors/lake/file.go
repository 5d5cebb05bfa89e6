package lake

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"

	"github.com/penstockio/penstock/connect-api"
)

// Keys of a file's metadata.
const (
	metaTopic     = "penstock.topic"
	metaPartition = "penstock.partition"
	metaFirst     = "penstock.first.offset"
	metaLast      = "penstock.last.offset"
	metaRows      = "penstock.rows"
)

const (
	stageRows     = 128      // rows staged as values before they go into the column buffers
	pageBytes     = 32 << 10 // of a column, before compression; required columns take it at once
	dictionaryMax = 256 << 10
	rowGroupBytes = 64 << 20 // a row group in memory is never larger, whatever the budget
	columnFixed   = 24 << 10 // what a column takes beyond what its writer says (TestMemoryOfOpenFiles)
)

var codecs = map[string]compress.Codec{
	"snappy": &parquet.Snappy, "zstd": &parquet.Zstd, "gzip": &parquet.Gzip, "none": &parquet.Uncompressed,
}

// file is a Parquet file being written.
type file struct {
	tp          connectapi.TopicPartition
	dir         string
	first, last int64
	n           int
	rows        *rows
	up          upload
	out         *counter
	pw          *parquet.GenericWriter[any]
	mem         int64
	finished    bool
	published   bool
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

func newFile(tp connectapi.TopicPartition, dir string, l *layout, up upload, codec compress.Codec) *file {
	out := &counter{w: up}
	f := &file{tp: tp, dir: dir, rows: newRows(l, tp.Topic), up: up, out: out}
	f.pw = parquet.NewGenericWriter[any](out, l.parquet, parquet.Compression(codec), parquet.PageBufferSize(pageBytes),
		parquet.DictionaryMaxBytes(dictionaryMax), parquet.CreatedBy("penstock", Version, "lake"))
	f.mem = f.fixed()
	return f
}

func (f *file) fixed() int64 { return int64(len(f.rows.cols)) * columnFixed }

// add takes a record; an error is the record's (I5).
func (f *file) add(r *connectapi.Record) error {
	if err := f.rows.add(r); err != nil {
		return err
	}
	if f.n == 0 {
		f.first = r.Original.Offset
	}
	f.last = r.Original.Offset
	f.n++
	return nil
}

// drain copies staged rows into the column buffers (I6), and writes a row group that has become large.
func (f *file) drain() error {
	if f.rows.n == 0 {
		return nil
	}
	for i, c := range f.pw.ColumnWriters() {
		if _, err := c.WriteRowValues(f.rows.cols[i]); err != nil {
			return fmt.Errorf("writing %s of %s: %w", f.rows.layout.parquet.Columns()[i], f.name(), err)
		}
	}
	f.rows.reset()
	f.mem = f.fixed() + f.pw.Size() - f.out.n
	if f.mem > rowGroupBytes {
		return f.spill()
	}
	return nil
}

// spill writes what is in memory as a row group.
func (f *file) spill() error {
	if err := f.pw.Flush(); err != nil {
		return fmt.Errorf("writing a row group of %s: %w", f.name(), err)
	}
	f.mem = f.fixed()
	return nil
}

func (f *file) name() string {
	return fmt.Sprintf("the file of offsets from %d in %s", f.first, f.dir)
}

func (f *file) finish() error {
	if f.finished {
		return nil
	}
	if err := f.drain(); err != nil {
		return err
	}
	f.pw.SetKeyValueMetadata(metaTopic, f.tp.Topic)
	f.pw.SetKeyValueMetadata(metaPartition, strconv.Itoa(int(f.tp.Partition)))
	f.pw.SetKeyValueMetadata(metaFirst, strconv.FormatInt(f.first, 10))
	f.pw.SetKeyValueMetadata(metaLast, strconv.FormatInt(f.last, 10))
	f.pw.SetKeyValueMetadata(metaRows, strconv.Itoa(f.n))
	if err := f.pw.Close(); err != nil {
		return fmt.Errorf("ending %s: %w", f.name(), err)
	}
	f.pw, f.rows, f.mem = nil, nil, 0
	f.finished = true
	return nil
}

// publish makes a finished file appear, under a longer name if its own is taken by other rows.
func (f *file) publish(ctx context.Context, s store, pad int) error {
	if f.published {
		return nil
	}
	for _, last := range []int64{-1, f.last} {
		path := f.dir + "/" + fileName(f.tp, f.first, last, pad)
		err := f.up.publish(ctx, path)
		if errors.Is(err, fs.ErrExist) {
			var same bool
			if same, err = f.same(ctx, s, path); err == nil && !same {
				continue
			}
		}
		if err != nil {
			return err
		}
		f.published = true
		return nil
	}
	return fmt.Errorf("publishing %s: files of offsets %d and %d to %d are there already and hold other rows: does another connector write here?",
		f.name(), f.first, f.first, f.last)
}

// same says whether the file at a path is this one: published before, by a call whose answer was lost, or by an earlier run.
func (f *file) same(ctx context.Context, s store, path string) (bool, error) {
	e, err := lookUp(ctx, s, path)
	if err != nil || e == nil {
		return false, err
	}
	return e.of(f.tp) && e.first == f.first && e.last == f.last && e.rows == f.n && e.size == f.out.n, nil
}
