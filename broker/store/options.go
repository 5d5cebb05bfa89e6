package store

import (
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/penstockio/penstock/broker/disk"
)

// Options of a store. Zero values mean the defaults stated.
type Options struct {
	NodeID          int32         // as clients see it; default 1
	SegmentBytes    int64         // file size of log segments; default 256 MiB
	MaxMessageBytes int           // the largest batch that will be appended; default 16 MiB; a segment must hold four
	TailBytes       int64         // memory for the log's end; default 16 MiB
	MemTableBytes   int           // of the index; default 16 MiB
	CacheBytes      int64         // of the index; default 32 MiB
	ReserveBytes    int64         // kept for the time when the disk is full; default four memtables, -1: none
	MaxProducers    int           // producers' windows kept in memory; default 50,000
	FlushLogBytes   int64         // the index is flushed after so much log; default 512 MiB
	FlushInterval   time.Duration // or after so much time with changes; default 30 s
	ZeroFillAfter   int64         // bytes written before segments are zero-filled ahead; default 1 MiB, -1: never
	ZeroFillAhead   int64         // how far; default 8 MiB

	RetentionCheck   time.Duration // between looks for what is kept no longer; default 5 min
	CleanBackoff     time.Duration // between looks for queues to compact; default 15 s
	CompactMemory    int64         // for the keys of a compaction; default 32 MiB
	CompactFloor     int64         // fewer bytes than this are compacted for their age only; default 1 MiB
	ScrubBytes       int64         // bytes a second that are read and checked in the background; default 8 MiB, -1: none
	Rebuild          bool          // throw the index away and rebuild it from the log
	MaintenanceBytes int64         // bytes a second that background work reads and writes; default 64 MiB, -1: no bound

	Disk    disk.FS          // default: the operating system's
	IndexFS vfs.FS           // the index's file system; default: the operating system's
	Now     func() time.Time // default: time.Now
}

func (o *Options) setDefaults() {
	def := func(v *int64, d int64) {
		if *v == 0 {
			*v = d
		}
	}
	def(&o.SegmentBytes, 256<<20)
	def(&o.TailBytes, 16<<20)
	def(&o.CacheBytes, 32<<20)
	def(&o.FlushLogBytes, 512<<20)
	def(&o.ZeroFillAfter, 1<<20)
	def(&o.ZeroFillAhead, 8<<20)
	def(&o.CompactMemory, 32<<20)
	def(&o.CompactFloor, 1<<20)
	def(&o.MaintenanceBytes, 64<<20)
	def(&o.ScrubBytes, 8<<20)
	if o.NodeID == 0 {
		o.NodeID = 1
	}
	if o.MaxMessageBytes == 0 {
		o.MaxMessageBytes = 16 << 20
	}
	if o.MemTableBytes == 0 {
		o.MemTableBytes = 16 << 20
	}
	def(&o.ReserveBytes, reserveTables*int64(o.MemTableBytes))
	if o.MaxProducers == 0 {
		o.MaxProducers = 50_000
	}
	if o.RetentionCheck == 0 {
		o.RetentionCheck = 5 * time.Minute
	}
	if o.CleanBackoff == 0 {
		o.CleanBackoff = 15 * time.Second
	}
	if o.FlushInterval == 0 {
		o.FlushInterval = 30 * time.Second
	}
	if o.Disk == nil {
		o.Disk = disk.OS{}
	}
	if o.IndexFS == nil {
		o.IndexFS = vfs.Default
	}
	if o.Now == nil {
		o.Now = time.Now
	}
}

// Validate fills in defaults and refuses what cannot work.
func (o *Options) Validate() error {
	o.setDefaults()
	if o.SegmentBytes < 4*int64(o.MaxMessageBytes) {
		return fmt.Errorf("log segments of %d bytes are too small: they must hold four messages of message.max.bytes=%d", o.SegmentBytes, o.MaxMessageBytes)
	}
	if o.TailBytes < 1<<20 || o.MaxProducers < 1 || o.CacheBytes < 0 || o.MemTableBytes < 1<<20 {
		return fmt.Errorf("the broker needs at least 1 MiB of memory for the log's end (%d given) and for the index (%d given)", o.TailBytes, o.MemTableBytes)
	}
	return nil
}
