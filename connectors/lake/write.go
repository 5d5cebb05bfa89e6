package lake

import (
	"context"
	"errors"
	"time"

	"github.com/penstockio/penstock/connect-api"
)

// Write takes records; they are durable once their files are published.
func (t *task) Write(ctx context.Context, rs *connectapi.Records) (err error) {
	if t.broken != nil {
		return t.broken
	}
	defer func() {
		if settled := t.settle(ctx); settled != nil {
			err = errors.Join(err, settled)
		}
	}()
	if err := t.endDue(ctx, false); err != nil {
		return err
	}
	for r := range rs.All() {
		p := t.partition(r)
		if r.Original.Offset < p.next { // taken before a part of this call was tried again
			continue
		}
		if err := t.take(ctx, p, r); err != nil {
			return err
		}
	}
	return nil
}

func (t *task) partition(r *connectapi.Record) *partition {
	if p := t.last; p != nil && p.tp.Partition == r.Original.Partition && p.tp.Topic == r.Original.Topic {
		return p
	}
	tp := connectapi.TopicPartition{Topic: r.Original.Topic, Partition: r.Original.Partition}
	p, ok := t.of[tp]
	if !ok {
		p = newPartition(tp, r.Original.Offset)
		t.of[tp] = p
	}
	t.last = p
	return p
}

// take puts a record into its file. An error is the task's: the record was not taken.
func (t *task) take(ctx context.Context, p *partition, r *connectapi.Record) error {
	if p.ending {
		if err := t.end(ctx, p); err != nil {
			return err
		}
	}
	at, failed := t.place(r)
	var when time.Time
	if failed == nil && t.cfg.RotateInterval > 0 && at.layout != nil {
		when, failed = t.parts.times(r)
		if failed == nil && p.count > 0 && when.Sub(p.began) >= t.cfg.RotateInterval {
			if err := t.end(ctx, p); err != nil {
				return err
			}
		}
	}
	if failed == nil && at.layout != nil {
		var err error
		if failed, err = t.write(ctx, p, at, when, r); err != nil {
			return err
		}
	}
	if failed != nil {
		r.Fail(failed)
	}
	p.next = r.Original.Offset + 1
	if p.count >= t.cfg.FlushSize || p.bytes >= t.cfg.RotateBytes {
		return t.end(ctx, p)
	}
	return nil
}

// place says where a record goes; no layout: nowhere.
func (t *task) place(r *connectapi.Record) (slotKey, error) {
	if r.Value.IsNull() {
		switch t.cfg.NullValues {
		case "fail":
			return slotKey{}, connectapi.DataError(errors.New("the record has no value, and behavior.on.null.values=fail"))
		case "write":
			return slotKey{topic: r.Topic, part: "tombstone", layout: tombstones}, nil
		}
		return slotKey{}, nil
	}
	l, err := t.layouts.of(r.Value.Schema())
	if err != nil {
		return slotKey{}, err
	}
	part, err := t.parts.encode(t.parts, r)
	if err != nil {
		return slotKey{}, connectapi.DataError(err)
	}
	return slotKey{topic: r.Topic, part: part, layout: l}, nil
}

// write stages a row, in a new file if need be. failed is the record's error.
func (t *task) write(ctx context.Context, p *partition, at slotKey, when time.Time, r *connectapi.Record) (failed, err error) {
	s := p.slot(at)
	if !s.written(r.Original.Offset) {
		if s.file == nil {
			if s, err = t.begin(ctx, p, at, r.Original.Offset); err != nil {
				return nil, err
			}
		}
		if f := s.file; f != nil {
			if failed := f.add(r); failed != nil {
				return failed, nil
			}
			if f.rows.n == 1 {
				t.dirty = append(t.dirty, f)
			}
			if f.rows.n >= stageRows {
				if err := f.drain(); err != nil {
					t.broken = err
					return nil, err
				}
			}
		}
	}
	now := t.now()
	if p.count == 0 {
		p.opened, p.began = now, when
	}
	p.count++
	p.bytes += int64(len(r.Key.Encoded()) + len(r.Value.Encoded()))
	p.touched = now
	return nil, nil
}

// begin makes a slot's file, unless a published one holds the row already: then the slot knows which rows to leave out.
func (t *task) begin(ctx context.Context, p *partition, at slotKey, offset int64) (*slot, error) {
	if t.cfg.MaxOpenFiles > 0 && t.open >= t.cfg.MaxOpenFiles {
		if err := t.end(ctx, t.oldest()); err != nil {
			return nil, err
		}
	}
	s := p.slot(at)
	dir := at.dir()
	old, err := lookUp(ctx, t.store, dir+"/"+fileName(p.tp, offset, -1, t.cfg.OffsetPad))
	if err != nil {
		return nil, err
	}
	if old != nil && old.of(p.tp) {
		s.skip = old.offsets
		if s.written(offset) {
			t.host.Log().Info("a file published before holds rows that come again: they are left out",
				"topic", p.tp.Topic, "partition", p.tp.Partition, "folder", dir, "first", old.first, "last", old.last)
			return s, nil
		}
	}
	up, err := t.store.create(tempPrefix(p.tp))
	if err != nil {
		return nil, err
	}
	s.file = newFile(p.tp, dir, at.layout, up, codecs[t.cfg.Codec])
	s.file.first = offset
	t.open++
	return s, nil
}
