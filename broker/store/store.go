package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/penstockio/penstock/broker/batch"
	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/compact"
	"github.com/penstockio/penstock/broker/disk"
	"github.com/penstockio/penstock/broker/index"
	"github.com/penstockio/penstock/broker/queue"
)

// Store is log, index and queues of one data directory. It is safe for concurrent use once started.
type Store struct {
	dir  string
	o    Options
	l    *slog.Logger
	m    *metrics
	lock io.Closer
	meta Meta

	machines map[commitlog.Kind]Machine
	owners   []owner

	log   *commitlog.Log
	cold  *commitlog.Log // what is kept for long: batches moved out of the log, and compacted ones
	db    *index.DB
	table *queue.Table

	guard     func(queue.ID, batch.Batch) error
	producers producers // guarded by the sequencer
	newest    *tag      // of the last round that got entries; guarded by the sequencer

	coldRec     commitlog.Recovery
	coldStarted bool        // by the one goroutine that moves data
	coldFailed  atomic.Bool // a round could not be written
	lives       lives
	snapshotted atomic.Pointer[lastSnapshot]
	snapCount   atomic.Uint64
	pace        pace // of maintenance
	reserve     *reserve

	owed struct { // queues whose drop failed
		sync.Mutex
		queues []queue.ID
	}

	retainClock retainClock

	// of the one goroutine that moves batches
	cleaning map[queue.ID]cleanState
	keys     *compact.Keys

	scrub scrubber

	tasks   chan task
	rounds  chan *commitlog.Round // synced, to be applied
	done    chan struct{}         // the applier has ended
	apply   *applier
	applied atomic.Int64 // log position the index has reached
	broken  atomic.Pointer[StorageError]
	failing atomic.Pointer[StorageError] // the index cannot be written for now
	dirty   atomic.Bool                  // the index holds what is not flushed, and the flush timer runs
	flushMu sync.Mutex
	stopped bool // no flush begins any more; guarded by flushMu
	warning atomic.Pointer[StorageError]

	maintain maintainer

	wait  waiters
	watch struct {
		sync.Mutex
		f []func([]Span)
	}
	state struct {
		sync.Mutex
		started, closed bool
	}
}

// owner is a registered machine with its prefix.
type owner struct {
	m      Machine
	prefix index.Prefix
}

var _ API = (*Store)(nil)

// Open takes the data directory for this process and reads what it says of itself; it makes a new one if there is
// none. Register machines, then Start. The error of a directory in use wraps disk.ErrLocked.
func Open(dir string, o Options, log *slog.Logger, reg prometheus.Registerer) (*Store, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := o.Disk.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("making the data directory %s: %w", dir, err)
	}
	lock, err := o.Disk.Lock(filepath.Join(dir, "LOCK"))
	if errors.Is(err, disk.ErrLocked) {
		return nil, fmt.Errorf("opening the data directory %s: another process uses it: %w", dir, disk.ErrLocked)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the data directory %s: %w", dir, err)
	}
	s := &Store{dir: dir, o: o, l: log, lock: lock, table: queue.NewTable(), machines: map[commitlog.Kind]Machine{}, cleaning: map[queue.ID]cleanState{}}
	s.pace.rate, s.scrub.pace.rate = o.MaintenanceBytes, o.ScrubBytes
	if s.meta, err = readMeta(o.Disk, dir, o.NodeID); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	s.m = newMetrics(reg, s)
	s.wait.init()
	if s.reserve, err = openReserve(o.Disk, dir, o.ReserveBytes, o.SegmentBytes); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	lo := commitlog.Options{
		FS: o.Disk, Dir: filepath.Join(dir, "log"), LogUUID: s.meta.LogUUID, SegmentBytes: o.SegmentBytes,
		TailBytes: o.TailBytes, FillAfter: o.ZeroFillAfter, FillAhead: o.fillAhead(), Now: o.Now, Log: log, Registerer: reg,
		Release: s.giveReserve,
	}
	if s.log, err = commitlog.Open(lo); err == nil {
		err = s.openCold(lo)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return s, nil
}

func (o *Options) fillAhead() int64 {
	if o.ZeroFillAfter < 0 {
		return 0
	}
	return o.ZeroFillAhead
}

// Meta is what the data directory says of itself: identities, and how often it was opened.
func (s *Store) Meta() Meta { return s.meta }

// Register implements API.
func (s *Store) Register(m Machine, p index.Prefix, kinds ...commitlog.Kind) {
	for _, k := range kinds {
		s.machines[k] = m
	}
	s.owners = append(s.owners, owner{m, p})
}

// Guard implements API.
func (s *Store) Guard(f func(q queue.ID, b batch.Batch) error) { s.guard = f }

func (s *Store) indexDir() string { return filepath.Join(s.dir, "index") }

// Start implements API: it recovers the log, brings the index up to its end and opens the writer. ctx bounds the
// start alone.
func (s *Store) Start(ctx context.Context) error {
	s.state.Lock()
	defer s.state.Unlock()
	if s.state.started || s.state.closed {
		return errors.New("starting the store: it was started before")
	}
	cp, err := s.openIndex()
	if err == nil && s.o.Rebuild {
		cp, err = s.resetIndex("it was asked for")
	}
	if err != nil {
		return err
	}
	rec, err := s.recover(&cp)
	if err == nil {
		err = s.recoverCold(&cp, &rec)
	}
	if err == nil {
		err = s.load(ctx, cp, rec)
	}
	if err == nil {
		err = s.openWriter(rec)
	}
	if err != nil {
		return errors.Join(err, s.abandon())
	}
	s.state.started = true
	if err := s.raiseFloors(); err != nil {
		return err
	}
	s.maintain.start(s)
	return nil
}

// recover finds the log's end. If that lies before what the index has seen, the index goes and history counts on.
func (s *Store) recover(cp *index.Checkpoint) (commitlog.Recovery, error) {
	rec, err := s.log.Recover(commitlog.Checkpoint{Position: cp.Position, Epoch: cp.Epoch, Time: cp.Time, Closed: cp.Closed, Last: cp.Epoch == s.meta.Epoch})
	if err != nil {
		return rec, s.refused("log", err)
	}
	if rec.Lost != "" {
		s.l.Warn("the log had a torn end, as after a crash; it was cut and is kept", "position", rec.End, "bytes", rec.Cut, "kept", rec.Lost)
	}
	if !rec.BelowCut {
		return rec, nil
	}
	if *cp, err = s.cutShort("log", rec.End, cp.Position); err != nil {
		return rec, err
	}
	return s.log.Recover(commitlog.Checkpoint{})
}

// refused says what can be done about a log that is not accepted.
func (s *Store) refused(what string, err error) error {
	if errors.As(err, new(*commitlog.CorruptError)) {
		return fmt.Errorf("recovering the %s in %s: %w; `penstock log verify` names all that is damaged, `penstock log repair` takes it out", what, s.dir, err)
	}
	return fmt.Errorf("recovering the %s in %s: %w", what, s.dir, err)
}

// cutShort notes that storage lost what the index had seen, and resets the index.
func (s *Store) cutShort(what string, end, seen int64) (index.Checkpoint, error) {
	cut := fmt.Errorf("the %s ends at %d, before the %d the index had seen: bytes that were synced are gone; the index was rebuilt", what, end, seen)
	s.l.Error("storage lost synced bytes", "error", cut)
	s.warning.Store(&StorageError{CutShort, cut})
	s.meta.History++
	if err := s.writeMeta(); err != nil {
		return index.Checkpoint{}, err
	}
	return s.resetIndex("the " + what + " is shorter than the index")
}

// recoverCold finds the end of the cold log, and then makes sure that the main log still has what the index lacks: if it
// does not, the index starts from a snapshot.
func (s *Store) recoverCold(cp *index.Checkpoint, rec *commitlog.Recovery) (err error) {
	s.coldRec, err = s.cold.Recover(commitlog.Checkpoint{Position: cp.Cold})
	if err != nil {
		return s.refused("cold log", err)
	}
	if s.coldRec.Lost != "" {
		s.l.Warn("the cold log had a torn end, as after a crash; it was cut and is kept", "position", s.coldRec.End, "bytes", s.coldRec.Cut, "kept", s.coldRec.Lost)
	}
	if s.coldRec.BelowCut {
		if *cp, err = s.cutShort("cold log", s.coldRec.End, cp.Cold); err != nil {
			return err
		}
		if s.coldRec, err = s.cold.Recover(commitlog.Checkpoint{}); err != nil {
			return s.refused("cold log", err)
		}
	}
	if cp.Position > 0 && cp.Position < rec.Start || cp.Position == 0 && rec.Start > 0 {
		if *cp, err = s.resetIndex("log segments it has not seen are gone"); err != nil {
			return err
		}
		if *rec, err = s.log.Recover(commitlog.Checkpoint{}); err != nil {
			return s.refused("log", err)
		}
	}
	return nil
}

// openWriter takes the next epoch, makes it durable and begins to write.
func (s *Store) openWriter(rec commitlog.Recovery) error {
	s.meta.Epoch = max(s.meta.Epoch, rec.Epoch, s.coldRec.Epoch) + 1
	if err := s.writeMeta(); err != nil {
		return err
	}
	s.rounds, s.done, s.tasks = make(chan *commitlog.Round, 2), make(chan struct{}), make(chan task)
	s.applied.Store(rec.End)
	go s.applyRounds()
	err := s.log.Start(rec, commitlog.EpochRecord{
		Epoch: s.meta.Epoch, Node: s.meta.NodeUUID, Reason: commitlog.ReasonStart, History: s.meta.History,
	}, commitlog.Hooks{Written: s.onWritten, Synced: func(r *commitlog.Round) { s.rounds <- r }, Failed: s.onFailed})
	if err != nil {
		err = errors.Join(fmt.Errorf("opening the log in %s for writing: %w", s.dir, err), s.log.Close())
		close(s.rounds)
		<-s.done
	}
	return err
}

// onWritten and onFailed are the log's hooks.
func (s *Store) onWritten(r *commitlog.Round) {
	if g, ok := r.Tag.(*tag); ok {
		g.reach(stageWritten, nil)
	}
}

func (s *Store) onFailed(r *commitlog.Round, err error) {
	if g, ok := r.Tag.(*tag); ok {
		g.reach(stageFailed, storageErr(err))
	}
}

// abandon gives everything back after a failed start.
func (s *Store) abandon() error {
	s.state.closed = true
	s.wait.close()
	if s.apply != nil {
		s.apply.stop()
	}
	err := errors.Join(s.log.Close(), s.cold.Close())
	if s.db != nil {
		err = errors.Join(err, s.db.Abandon())
	}
	return errors.Join(err, s.lock.Close())
}

// Health implements API: nil, or a *StorageError that says why writing is refused or what was lost.
func (s *Store) Health() error {
	if e := s.broken.Load(); e != nil {
		return e
	}
	if err := s.log.Health(); err != nil {
		return storageErr(err)
	}
	if e := s.failing.Load(); e != nil {
		return e
	}
	if e := s.short(); e != nil {
		return e
	}
	if e := s.warning.Load(); e != nil {
		return e
	}
	if e := s.damage(); e != nil {
		return e
	}
	if s.coldFailed.Load() {
		if err := s.cold.Health(); err != nil {
			return storageErr(fmt.Errorf("the cold log takes nothing, so no space is made: %w", err))
		}
	}
	return nil
}

// Close implements API: it waits for what was appended, writes the frame of a clean stop and flushes the index. When
// ctx ends first it still closes everything, but returns ctx's error.
func (s *Store) Close(ctx context.Context) error {
	s.state.Lock()
	defer s.state.Unlock()
	if s.state.closed {
		return nil
	}
	s.state.closed = true
	s.wait.close()
	s.maintain.stop()
	failed := errors.Join(s.cold.Close(), s.log.Close())
	var errs []error
	if s.state.started {
		close(s.rounds)
		<-s.done
		s.apply.stop()
		errs = append(errs, s.closeIndex())
	}
	var fenced *commitlog.FailedError
	if !errors.As(failed, &fenced) { // a fenced log was reported when it failed
		errs = append(errs, failed)
	}
	errs = append(errs, s.lock.Close(), ctx.Err())
	return errors.Join(errs...)
}

// closeIndex flushes, unless the index is broken: then it goes and is rebuilt at the next start.
func (s *Store) closeIndex() error {
	if s.broken.Load() == nil && s.db.Failed() == nil {
		return s.db.Close()
	}
	return errors.Join(s.db.Abandon(), index.Remove(s.o.IndexFS, s.indexDir()))
}
