package lake

import (
	"context"
	"runtime"
	"testing"

	"github.com/penstockio/penstock/connect-api"
)

// heap is what is in use after a collection.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse)
}

// Many open files take no more memory than is accounted for: rows of a wide event in one file each.
func TestMemoryOfOpenFiles(t *testing.T) {
	const files = 100
	for _, each := range []int{1, 50, 1000} {
		h := newHarness(t, "location", t.TempDir(), "partitioner.max.open.files", "-1", "buffer.bytes", "1073741824")
		before := heap()
		for p := range int32(files) {
			data, dir, _ := batchesOf(t, envelope, anEvent, each, each, p)
			rs := connectapi.NewRecords(data[0], each, 0, dir, func(r *connectapi.Record, err error) { t.Fatal(r.Original, err) })
			if err := h.task.Write(context.Background(), rs); err != nil {
				t.Fatal(err)
			}
		}
		used, said := heap()-before, h.task.buffered()
		t.Logf("%d files of %d rows: %d KiB a file in use, %d KiB accounted", files, each, used/files>>10, said/files>>10)
		if used > said*3/2 {
			t.Errorf("%d files of %d rows take %d bytes, and %d are accounted for", files, each, used, said)
		}
		runtime.KeepAlive(h)
	}
}
