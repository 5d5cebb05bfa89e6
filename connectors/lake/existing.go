package lake

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"github.com/penstockio/penstock/connect-api"
)

// existing is what a published file says of itself.
type existing struct {
	topic       string
	partition   int
	first, last int64
	rows        int
	size        int64
	offsets     []int64
}

func (e *existing) of(tp connectapi.TopicPartition) bool {
	return e.topic == tp.Topic && e.partition == int(tp.Partition)
}

// lookUp reads the file at a path; nil if there is none, or none of ours.
func lookUp(ctx context.Context, s store, path string) (e *existing, err error) {
	p, err := s.open(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("opening file %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	in := &watched{r: p}
	f, err := parquet.OpenFile(in, p.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, in.err // a file that is not Parquet is not ours
	}
	e = &existing{size: p.Size()}
	for key, to := range map[string]func(string) error{
		metaTopic:     func(v string) error { e.topic = v; return nil },
		metaPartition: func(v string) (err error) { e.partition, err = strconv.Atoi(v); return err },
		metaFirst:     func(v string) (err error) { e.first, err = strconv.ParseInt(v, 10, 64); return err },
		metaLast:      func(v string) (err error) { e.last, err = strconv.ParseInt(v, 10, 64); return err },
		metaRows:      func(v string) (err error) { e.rows, err = strconv.Atoi(v); return err },
	} {
		if v, ok := f.Lookup(key); !ok || to(v) != nil {
			return nil, nil
		}
	}
	if e.offsets, err = offsetsOf(f); err != nil {
		return nil, fmt.Errorf("reading offsets of file %s: %w", path, err)
	}
	return e, nil
}

// watched keeps the first error of reading, to tell a store that fails from a file that is not Parquet.
type watched struct {
	r   io.ReaderAt
	err error
}

func (w *watched) ReadAt(b []byte, off int64) (int, error) {
	n, err := w.r.ReadAt(b, off)
	if err != nil && !errors.Is(err, io.EOF) && w.err == nil {
		w.err = err
	}
	return n, err
}

func offsetsOf(f *parquet.File) ([]int64, error) {
	leaf, ok := f.Schema().Lookup(offsetColumn)
	if !ok {
		return nil, fmt.Errorf("there is no column %s", offsetColumn)
	}
	out := make([]int64, 0, f.NumRows())
	var values [512]parquet.Value
	for _, g := range f.RowGroups() {
		pages := g.ColumnChunks()[leaf.ColumnIndex].Pages()
		err := func() error {
			for {
				page, err := pages.ReadPage()
				if err != nil {
					return err
				}
				in := page.Values()
				for err == nil {
					var n int
					n, err = in.ReadValues(values[:])
					for _, v := range values[:n] {
						out = append(out, v.Int64())
					}
				}
				parquet.Release(page)
				if !errors.Is(err, io.EOF) {
					return err
				}
			}
		}()
		if errors.Is(err, io.EOF) {
			err = nil
		}
		if err = errors.Join(err, pages.Close()); err != nil {
			return nil, err
		}
	}
	return out, nil
}
