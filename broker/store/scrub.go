package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/index"
)

// scrubEvery is how often everything is read and checked, if there is time enough for it.
const scrubEvery = 24 * time.Hour

// keepDamage bounds how many damaged places are remembered.
const keepDamage = 64

// scrubber reads sealed segments in the background, slowly, so that damage is known before somebody needs the data. It
// never stops anything: a batch that is damaged is refused when it is read.
type scrubber struct {
	pace pace
	mu   sync.Mutex
	bad  map[string]commitlog.Damage
}

// scrubLoop goes over all segments once in scrubEvery.
func (s *Store) scrubLoop(ctx context.Context) {
	for ctx.Err() == nil {
		began := time.Now()
		if err := s.Scrub(ctx); err != nil && ctx.Err() == nil {
			s.l.Warn("checking the log in the background failed; it is tried again", "error", err)
		}
		t := time.NewTimer(max(scrubEvery-time.Since(began), time.Minute))
		select {
		case <-ctx.Done():
		case <-t.C:
		}
		t.Stop()
	}
}

// Scrub checks every frame of all sealed segments, at the scrubber's pace.
func (s *Store) Scrub(ctx context.Context) error {
	found := map[string]commitlog.Damage{}
	for _, d := range s.missing() {
		found[fmt.Sprint(d.File, d.From)] = d
	}
	for _, log := range []*commitlog.Log{s.log, s.cold} {
		for _, sg := range s.sealed(log, log.Durable()) {
			r, err := log.VerifySegment(sg.First, func(n int) error {
				s.m.scrubbed.Add(float64(n))
				return s.scrub.pace.take(ctx, n)
			})
			if err != nil {
				return err
			}
			for _, d := range r.Damage {
				if len(found) < keepDamage {
					found[fmt.Sprint(d.File, d.From)] = d
				}
				s.noteDamage(d)
			}
		}
	}
	s.scrub.mu.Lock()
	s.scrub.bad = found // what lay in removed segments is forgotten
	s.m.damaged.Set(float64(len(found)))
	s.scrub.mu.Unlock()
	s.m.lastScrub.SetToCurrentTime()
	return nil
}

// missing lists segments that are not there though batches live in them. Removing segments is how space is made, so the log
// alone can't tell.
func (s *Store) missing() (list []commitlog.Damage) {
	for id, live := range s.lives.all() {
		log, dir := s.log, filepath.Join(s.dir, "log")
		if id.store == index.StoreCold {
			log, dir = s.cold, s.coldDir()
		}
		if _, ok := log.SegmentOf(id.first); ok || len(list) >= keepDamage {
			continue
		}
		list = append(list, commitlog.Damage{
			File: filepath.Join(dir, fmt.Sprintf("%020d.log", id.first)), From: id.first, To: id.first,
			Reason: fmt.Sprintf("the segment is missing, and with it %d bytes of records", live),
		})
	}
	return list
}

// noteDamage remembers a damaged place, and says it once.
func (s *Store) noteDamage(d commitlog.Damage) {
	s.scrub.mu.Lock()
	defer s.scrub.mu.Unlock()
	key := fmt.Sprint(d.File, d.From)
	if _, known := s.scrub.bad[key]; known || len(s.scrub.bad) >= keepDamage {
		return
	}
	if s.scrub.bad == nil {
		s.scrub.bad = map[string]commitlog.Damage{}
	}
	s.scrub.bad[key] = d
	s.m.damaged.Set(float64(len(s.scrub.bad)))
	s.l.Error("the log is damaged; what is there can't be read", "file", d.File, "from", d.From, "to", d.To, "reason", d.Reason)
}

// damaged tells whether a batch could not be read because its bytes are not what was written, or are gone, and takes note.
func (s *Store) damaged(err error, e *index.Entry) bool {
	d := commitlog.Damage{From: e.Position, To: e.Position + commitlog.FrameSize(e.Size)}
	var bad *commitlog.CorruptError
	switch {
	case errors.As(err, &bad):
		d.File, d.Reason = bad.File, bad.Reason
	case errors.Is(err, commitlog.ErrGone):
		d.File, d.Reason = s.dir, "no segment holds it"
	default:
		return false
	}
	s.noteDamage(d)
	return true
}

// damage says what of the log is known to be damaged.
func (s *Store) damage() *StorageError {
	s.scrub.mu.Lock()
	defer s.scrub.mu.Unlock()
	for _, d := range s.scrub.bad {
		return &StorageError{Damaged, fmt.Errorf("%d damaged places in the log, one of them: %s; stop the broker and run `penstock log verify`", len(s.scrub.bad), d)}
	}
	return nil
}
