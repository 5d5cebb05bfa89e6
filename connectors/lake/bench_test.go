package lake

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/penstockio/penstock/connect-api"
)

// order is a row of ten columns, and envelope the change event around it.
var (
	order = func() *connectapi.Schema {
		return connectapi.NewStruct("shop.orders.Value").
			Field("id", connectapi.Int64Schema).Field("customer", connectapi.Int32Schema).
			Field("status", connectapi.StringSchema).Field("note", connectapi.OptionalStringSchema).
			Field("total", decimal(2, "10").MustBuild()).Field("weight", connectapi.OptionalFloat64Schema).
			Field("paid", connectapi.BooleanSchema).Field("day", debezium(connectapi.TypeInt32, "time.Date").MustBuild()).
			Field("made", debezium(connectapi.TypeInt64, "time.MicroTimestamp").MustBuild()).
			Field("changed", debezium(connectapi.TypeString, "time.ZonedTimestamp").MustBuild()).Optional().MustBuild()
	}()
	source = connectapi.NewStruct("io.debezium.connector.mysql.Source").
		Field("version", connectapi.StringSchema).Field("connector", connectapi.StringSchema).Field("name", connectapi.StringSchema).
		Field("ts_ms", connectapi.Int64Schema).Field("db", connectapi.StringSchema).Field("table", connectapi.OptionalStringSchema).
		Field("server_id", connectapi.Int64Schema).Field("file", connectapi.StringSchema).Field("pos", connectapi.Int64Schema).
		Field("row", connectapi.Int32Schema).MustBuild()
	envelope = connectapi.NewStruct("shop.orders.Envelope").Field("before", order).Field("after", order).Field("source", source).
			Field("op", connectapi.StringSchema).Field("ts_ms", connectapi.OptionalInt64Schema).MustBuild()
)

func anOrder(i int) *connectapi.Struct {
	v := connectapi.NewStructValue(order)
	for j, x := range []any{
		int64(i), int32(i % 5000), []string{"new", "paid", "sent"}[i%3], fmt.Sprintf("note %d of this order", i), big10(fmt.Sprintf("%d.%02d", i%90000, i%100)),
		float64(i) / 7, i%2 == 0, int32(19000 + i%300), int64(1700000000000000 + i), "2024-05-06T07:08:09.123456Z",
	} {
		v.SetAt(j, x)
	}
	return v
}

func anEvent(i int) *connectapi.Struct {
	s := connectapi.NewStructValue(source)
	for j, x := range []any{"1.0", "mysql", "shop", int64(1700000000000 + i), "shop", "orders", int64(1), "binlog.000001", int64(i * 300), int32(0)} {
		s.SetAt(j, x)
	}
	v := connectapi.NewStructValue(envelope)
	for j, x := range []any{anOrder(i), anOrder(i + 1), s, "u", int64(1700000000000 + i)} {
		v.SetAt(j, x)
	}
	return v
}

// batches are encoded records of topic t, offsets from 0.
func batches(b testing.TB, s *connectapi.Schema, value func(int) *connectapi.Struct, n, size int) ([][]byte, *connectapi.Directory, int) {
	return batchesOf(b, s, value, n, size, 0)
}

func batchesOf(b testing.TB, s *connectapi.Schema, value func(int) *connectapi.Struct, n, size int, partition int32) ([][]byte, *connectapi.Directory, int) {
	cat, dir := connectapi.NewCatalog(), connectapi.NewDirectory()
	var out [][]byte
	total := 0
	route := &connectapi.Route{Topic: "t", Partition: partition, Key: connectapi.OptionalInt64Schema, Value: s}
	for from := 0; from < n; from += size {
		batch := connectapi.NewBatch(cat)
		batch.SetBase(0)
		for i := from; i < from+size; i++ {
			v, err := connectapi.Encode(s, value(i))
			if err != nil {
				b.Fatal(err)
			}
			batch.AppendConsumed(route, 0, int64(i), nil, v.Encoded(), connectapi.Headers{})
		}
		total += batch.Size()
		out = append(out, batch.Encoded())
	}
	schemas, routes := cat.Announce()
	for _, x := range schemas {
		if err := dir.AddSchema(x.ID, x.Schema); err != nil {
			b.Fatal(err)
		}
	}
	for _, x := range routes {
		if err := dir.AddRoute(x.ID, x.Route); err != nil {
			b.Fatal(err)
		}
	}
	return out, dir, total
}

const benchRows, benchBatch = 100_000, 1000

// BenchmarkWrite writes files of 100,000 rows to disk, fsync included; rows are counted in the files.
func BenchmarkWrite(b *testing.B) {
	for _, c := range []struct {
		name   string
		schema *connectapi.Schema
		value  func(int) *connectapi.Struct
	}{{"flat10", order, anOrder}, {"envelope32", envelope, anEvent}} {
		for _, codec := range []string{"snappy", "zstd"} {
			b.Run(c.name+"/"+codec, func(b *testing.B) {
				data, dir, size := batches(b, c.schema, c.value, benchRows, benchBatch)
				b.SetBytes(int64(size))
				b.ReportAllocs()
				b.ResetTimer()
				for range b.N {
					writeAll(b, data, dir, codec)
				}
				b.ReportMetric(float64(b.N*benchRows)/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}

func writeAll(b *testing.B, data [][]byte, dir *connectapi.Directory, codec string) {
	folder := b.TempDir()
	h := newHarness(b, "location", folder, "flush.size", fmt.Sprint(benchRows), "parquet.codec", codec)
	h.assign("t", 0, 0)
	for _, rows := range data {
		rs := connectapi.NewRecords(rows, benchBatch, 0, dir, func(r *connectapi.Record, err error) { b.Fatal(r.Original, err) })
		if err := h.task.Write(context.Background(), rs); err != nil {
			b.Fatal(err)
		}
	}
	h.commit(true)
	b.StopTimer()
	defer b.StartTimer()
	path := filepath.Join(folder, "t/partition=0/t+0+0000000000.parquet")
	e, err := lookUp(context.Background(), h.task.store, "t/partition=0/"+filepath.Base(path))
	if err != nil || e == nil || len(e.offsets) != benchRows {
		b.Fatalf("%+v %v", e, err)
	}
}

// Staging rows allocates nothing per record once its memory has grown.
func TestStagingAllocatesNothing(t *testing.T) {
	data, dir, _ := batches(t, envelope, anEvent, 1000, 1000)
	l, err := newLayout(envelope, false)
	if err != nil {
		t.Fatal(err)
	}
	w := newRows(l, "t")
	rs := connectapi.NewRecords(data[0], 1000, 0, dir, nil)
	stage := func() {
		for r := range rs.All() {
			if err := w.add(r); err != nil {
				t.Fatal(err)
			}
		}
		w.reset()
	}
	stage()
	if n := testing.AllocsPerRun(10, stage); n > 10 {
		t.Fatalf("%v allocations for 1000 rows", n)
	}
}
