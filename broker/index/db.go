package index

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Types that owners of prefixes work with.
type (
	// Batch collects writes that become visible together, with the log position they stand for.
	Batch struct{ *pebble.Batch }
	// Snapshot is the index as of one moment. Close it.
	Snapshot struct{ *pebble.Snapshot }
)

// Options of the index.
type Options struct {
	Dir           string
	FS            vfs.FS // nil: the operating system's
	MemTableBytes int
	CacheBytes    int64
	Log           *slog.Logger
	// OnFailing tells why files cannot be written, which is tried again and again, and with nil that they can. It must not
	// block.
	OnFailing func(error)
	// Reserve gives space back to a full file system, and tells whether it had some.
	Reserve func() bool
}

// DB is the open index. It is safe for concurrent use.
type DB struct {
	p       *pebble.DB
	log     *logger
	writing *writing

	flushMu  sync.Mutex
	flushing <-chan struct{} // closed when the last flush begun has ended
}

// Failed is what Pebble called fatal, nil while all is well. The index must then be given up: Abandon, Remove, rebuild.
func (d *DB) Failed() error {
	if p := d.log.fatal.Load(); p != nil {
		return *p
	}
	return nil
}

// ErrNotFound is what Get returns for a key that is not there.
var ErrNotFound = pebble.ErrNotFound

// Open opens or creates the index. Its error may mean that the directory is damaged: Remove it and rebuild.
func Open(o Options) (*DB, error) {
	log := &logger{log: o.Log}
	w := &writing{tell: o.OnFailing, reserve: o.Reserve, quit: make(chan struct{})}
	if o.FS == nil {
		o.FS = vfs.Default
	}
	po := &pebble.Options{
		FS:                          vfs.OnDiskFull(patientFS{o.FS, w}, w.noSpace),
		FormatMajorVersion:          pebble.FormatFlushableIngest,
		DisableWAL:                  true, // I1
		MemTableSize:                uint64(o.MemTableBytes),
		MemTableStopWritesThreshold: 3,
		CacheSize:                   o.CacheBytes,
		L0CompactionThreshold:       2,
		L0StopWritesThreshold:       1000,
		MaxOpenFiles:                512,
		CompactionConcurrencyRange:  func() (int, int) { return 1, 1 },
		Logger:                      log,
		EventListener: &pebble.EventListener{
			FlushEnd:        w.flushed,
			BackgroundError: func(err error) { log.Errorf("%v; it is tried again", err) },
		},
	}
	for i := range po.Levels {
		po.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	p, err := pebble.Open(o.Dir, po)
	if err != nil {
		return nil, fmt.Errorf("opening the index in %s: %w", o.Dir, err)
	}
	db := &DB{p: p, log: log, writing: w}
	if err := db.Failed(); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the index in %s: %w", o.Dir, err), p.Close())
	}
	return db, nil
}

// Remove deletes the index's files.
func Remove(fsys vfs.FS, dir string) error {
	if fsys == nil {
		fsys = vfs.Default
	}
	if err := fsys.RemoveAll(dir); err != nil {
		return fmt.Errorf("removing the index in %s: %w", dir, err)
	}
	return nil
}

// NewBatch begins a batch. Commit or Close it.
func (d *DB) NewBatch() *Batch { return &Batch{d.p.NewBatch()} }

// Commit makes a batch visible and closes it. Nothing is synced: the log is what survives (I1).
func (d *DB) Commit(b *Batch) error {
	if err := errors.Join(b.Batch.Commit(pebble.NoSync), b.Close(), d.Failed()); err != nil {
		return fmt.Errorf("writing to the index: %w", err)
	}
	return nil
}

// Set writes a key.
func (b *Batch) Set(key, value []byte) error { return b.Batch.Set(key, value, nil) }

// Delete removes a key.
func (b *Batch) Delete(key []byte) error { return b.Batch.Delete(key, nil) }

// DeleteRange removes the keys from from up to to, exclusive.
func (b *Batch) DeleteRange(from, to []byte) error { return b.Batch.DeleteRange(from, to, nil) }

// Get copies the value of a key; ErrNotFound when there is none.
func (d *DB) Get(key []byte) ([]byte, error) {
	v, c, err := d.p.Get(key)
	if err != nil {
		return nil, err
	}
	return append([]byte(nil), v...), c.Close()
}

// Iterator walks keys in order. Close it soon: an open one keeps files from being deleted.
type Iterator struct{ *pebble.Iterator }

// Iter iterates over the keys from from up to to, exclusive; nil to means no end. It is not positioned.
func (d *DB) Iter(from, to []byte) (*Iterator, error) {
	it, err := d.p.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return nil, fmt.Errorf("iterating over the index: %w", err)
	}
	return &Iterator{it}, nil
}

// Snapshot fixes the index as of now.
func (d *DB) Snapshot() *Snapshot { return &Snapshot{d.p.NewSnapshot()} }

// Iter iterates over a snapshot like DB.Iter.
func (s *Snapshot) Iter(from, to []byte) (*Iterator, error) {
	it, err := s.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return nil, fmt.Errorf("iterating over a snapshot of the index: %w", err)
	}
	return &Iterator{it}, nil
}

// Get copies the value of a key as of the snapshot; ErrNotFound when there was none.
func (s *Snapshot) Get(key []byte) ([]byte, error) {
	v, c, err := s.Snapshot.Get(key)
	if err != nil {
		return nil, err
	}
	return append([]byte(nil), v...), c.Close()
}

// Flush writes what is in memory to disk and waits for it.
func (d *DB) Flush(ctx context.Context) error {
	for {
		done, begun, err := d.flush()
		if err != nil {
			return fmt.Errorf("flushing the index: %w", err)
		}
		select {
		case <-done:
		case <-ctx.Done():
			return fmt.Errorf("flushing the index: %w", ctx.Err())
		}
		if begun {
			return d.Failed()
		}
	}
}

// AsyncFlush begins to write what is in memory to disk, so that a restart replays less of the log.
func (d *DB) AsyncFlush() error {
	_, _, err := d.flush()
	return err
}

// flush begins a flush. While an earlier one still runs it gives that instead: more memtables would only bring nearer the
// number at which Pebble blocks.
func (d *DB) flush() (done <-chan struct{}, begun bool, err error) {
	d.flushMu.Lock()
	defer d.flushMu.Unlock()
	if d.flushing != nil {
		select {
		case <-d.flushing:
		default:
			return d.flushing, false, nil
		}
	}
	d.flushing, err = d.p.AsyncFlush()
	return d.flushing, true, err
}

// closeFlush is how often Close looks whether its flush can be done at all.
const closeFlush = 50 * time.Millisecond

// Close flushes and closes (I2). What cannot be flushed, since files cannot be written, is left to the log.
func (d *DB) Close() error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	look := time.NewTicker(closeFlush)
	defer look.Stop()
	flushed := make(chan error, 1)
	go func() { flushed <- d.Flush(ctx) }()
	for {
		select {
		case err := <-flushed:
			d.writing.stop()
			return errors.Join(err, d.p.Close())
		case <-look.C:
		}
		if d.writing.failing.Load() {
			cancel()
			d.log.Errorf("it is closed without being flushed, since it cannot be written; the next start replays more of the log: %v", <-flushed)
			if err := d.Abandon(); err != nil {
				d.log.Errorf("closing it: %v", err)
			}
			return nil
		}
	}
}

// Abandon closes without a flush, as a crash would; the log replays the rest.
func (d *DB) Abandon() error {
	d.writing.stop()
	return d.p.Close()
}

// MetricsText is Pebble's own report, for support.
func (d *DB) MetricsText(w io.Writer) error {
	_, err := io.WriteString(w, d.p.Metrics().String())
	return err
}

// logger passes Pebble's messages on and never ends the process.
type logger struct {
	log   *slog.Logger
	fatal atomic.Pointer[error]
}

func (l *logger) Infof(format string, a ...any) {
	if l.log.Enabled(context.Background(), slog.LevelDebug) {
		l.log.Debug("index: " + fmt.Sprintf(format, a...))
	}
}

func (l *logger) Errorf(format string, a ...any) {
	l.log.Error("index: " + fmt.Sprintf(format, a...))
}

// Fatalf remembers what happened (DB.Failed) where Pebble's own logger would exit.
func (l *logger) Fatalf(format string, a ...any) {
	err := fmt.Errorf(format, a...)
	l.fatal.CompareAndSwap(nil, &err)
	l.log.Error("index: " + err.Error())
}
