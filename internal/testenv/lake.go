package testenv

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// LakeRow is a row that the lake connector wrote. Columns are the value's: int64, float64, bool, string, []byte, []any,
// map[string]any, nil for null; decimals, dates and times are their text.
type LakeRow struct {
	Topic     string
	Partition int32
	Offset    int64
	Columns   map[string]any
}

// ReadLake reads all Parquet files below a folder: each record once, by topic, partition and offset.
func ReadLake(dir string) ([]LakeRow, error) {
	rows, err := ReadLakeAll(dir)
	if err != nil {
		return nil, err
	}
	return slices.CompactFunc(rows, func(a, b LakeRow) bool { return compareLakeRows(a, b) == 0 }), nil
}

// ReadLakeAll is ReadLake with rows that stand in several files as often as they do.
func ReadLakeAll(dir string) ([]LakeRow, error) {
	var rows []LakeRow
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != dir:
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".parquet"):
			return nil
		}
		more, err := ReadLakeFile(path)
		rows = append(rows, more...)
		return err
	})
	slices.SortStableFunc(rows, compareLakeRows)
	return rows, err
}

func compareLakeRows(a, b LakeRow) int {
	return cmp.Or(strings.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset))
}

// ReadLakeFile reads one Parquet file in the order of its rows.
func ReadLakeFile(path string) (rows []LakeRow, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("reading Parquet file %s: %w", path, err)
		}
	}()
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	st, err := in.Stat()
	if err != nil {
		return nil, err
	}
	f, err := parquet.OpenFile(in, st.Size())
	if err != nil {
		return nil, err
	}
	for _, g := range f.RowGroups() {
		if rows, err = readGroup(rows, f.Root(), g); err != nil {
			return rows, err
		}
	}
	return rows, nil
}

func readGroup(rows []LakeRow, root *parquet.Column, g parquet.RowGroup) ([]LakeRow, error) {
	in := g.Rows()
	var buf [64]parquet.Row
	for {
		n, err := in.ReadRows(buf[:])
		for _, row := range buf[:n] {
			rows = append(rows, assembleRow(root, row))
		}
		if errors.Is(err, io.EOF) {
			return rows, in.Close()
		}
		if err != nil {
			return rows, errors.Join(err, in.Close())
		}
	}
}

func assembleRow(root *parquet.Column, row parquet.Row) LakeRow {
	a := assembler{}
	for _, values := range row.Range {
		a = append(a, values)
	}
	r := LakeRow{Columns: map[string]any{}}
	for _, c := range root.Columns() {
		v := a.column(c, 0, 0)
		switch c.Name() {
		case "__topic":
			r.Topic, _ = v.(string)
		case "__partition":
			n, _ := v.(int64)
			r.Partition = int32(n)
		case "__offset":
			r.Offset, _ = v.(int64)
		default:
			r.Columns[c.Name()] = v
		}
	}
	return r
}

// assembler holds the values of each leaf that are still to be read: records of Dremel, put together again.
type assembler [][]parquet.Value

func firstLeaf(c *parquet.Column) *parquet.Column {
	for !c.Leaf() {
		c = c.Columns()[0]
	}
	return c
}

// absent takes the marks of something that is not there.
func (a assembler) absent(c *parquet.Column) {
	if c.Leaf() {
		a[c.Index()] = a[c.Index()][1:]
		return
	}
	for _, x := range c.Columns() {
		a.absent(x)
	}
}

func (a assembler) column(c *parquet.Column, rep, def int) any {
	leaf := firstLeaf(c).Index()
	switch {
	case c.Optional():
		if def++; a[leaf][0].DefinitionLevel() < def {
			a.absent(c)
			return nil
		}
	case c.Repeated():
		rep, def = rep+1, def+1
		out := []any{}
		if a[leaf][0].DefinitionLevel() < def {
			a.absent(c)
			return out
		}
		out = append(out, a.present(c, rep, def))
		for len(a[leaf]) > 0 && a[leaf][0].RepetitionLevel() == rep {
			out = append(out, a.present(c, rep, def))
		}
		return out
	}
	return a.present(c, rep, def)
}

func (a assembler) present(c *parquet.Column, rep, def int) any {
	if c.Leaf() {
		v := a[c.Index()][0]
		a[c.Index()] = a[c.Index()][1:]
		return leafValue(c, v)
	}
	m := map[string]any{}
	for _, x := range c.Columns() {
		m[x.Name()] = a.column(x, rep, def)
	}
	return unwrap(c, m)
}

// unwrap takes lists and maps out of the groups they are stored in.
func unwrap(c *parquet.Column, m map[string]any) any {
	cols := c.Columns()
	if len(cols) != 1 || !cols[0].Repeated() {
		return m
	}
	entries, _ := m[cols[0].Name()].([]any)
	switch cols[0].Name() {
	case "list":
		out := make([]any, len(entries))
		for i, e := range entries {
			out[i] = e.(map[string]any)["element"]
		}
		return out
	case "key_value":
		out := map[string]any{}
		for _, e := range entries {
			kv := e.(map[string]any)
			out[fmt.Sprint(kv["key"])] = kv["value"]
		}
		return out
	}
	return m
}

func leafValue(c *parquet.Column, v parquet.Value) any {
	if lt := c.Type().LogicalType(); lt != nil {
		switch t := lt.Value.(type) {
		case *format.DecimalType:
			return decimalText(v, int(t.Scale))
		case *format.DateType:
			return time.Unix(int64(v.Int32())*24*60*60, 0).UTC().Format(time.DateOnly)
		case *format.TimeType:
			return time.Unix(0, unixNanos(t.Unit, v.Int64())).UTC().Format("15:04:05.999999999")
		case *format.TimestampType:
			return timestampText(t, v.Int64())
		case *format.StringType, *format.JsonType, *format.EnumType:
			return string(v.ByteArray())
		}
	}
	switch v.Kind() {
	case parquet.Boolean:
		return v.Boolean()
	case parquet.Int32:
		return int64(v.Int32())
	case parquet.Int64:
		return v.Int64()
	case parquet.Float:
		return float64(v.Float())
	case parquet.Double:
		return v.Double()
	}
	return slices.Clone(v.Bytes())
}

func timestampText(t *format.TimestampType, n int64) string {
	zone := ""
	if t.IsAdjustedToUTC {
		zone = "Z07:00"
	}
	at := time.UnixMicro(n)
	switch t.Unit.Value.(type) {
	case *format.NanoSeconds:
		at = time.Unix(0, n)
	case *format.MilliSeconds:
		at = time.UnixMilli(n)
	}
	return at.UTC().Format("2006-01-02T15:04:05.999999999" + zone)
}

func unixNanos(u format.TimeUnit, n int64) int64 {
	switch u.Value.(type) {
	case *format.MicroSeconds:
		return n * 1000
	case *format.MilliSeconds:
		return n * 1_000_000
	}
	return n
}

func decimalText(v parquet.Value, scale int) string {
	n := new(big.Int)
	switch v.Kind() {
	case parquet.Int32:
		n.SetInt64(int64(v.Int32()))
	case parquet.Int64:
		n.SetInt64(v.Int64())
	default:
		b := v.Bytes()
		if n.SetBytes(b); len(b) > 0 && b[0] >= 0x80 {
			n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(len(b))*8))
		}
	}
	digits := new(big.Int).Abs(n).String()
	if pad := scale + 1 - len(digits); pad > 0 {
		digits = strings.Repeat("0", pad) + digits
	}
	if scale > 0 {
		digits = digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
	}
	if n.Sign() < 0 {
		digits = "-" + digits
	}
	return digits
}
