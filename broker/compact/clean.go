package compact

import "github.com/penstockio/penstock/broker/batch"

// maxBody bounds what one batch may decompress to in memory; a batch that is larger is left alone.
const maxBody = 128 << 20

// markerStay is the least a marker stays: a reader that has begun may still hold its transaction's data.
const markerStay = 60_000

// Learn notes the keys of a batch of data that is not aborted. It is false when the keys do not fit: the batch then
// counts as not learned, though what was noted of it does no harm, since its records stay.
func (k *Keys) Learn(b batch.Batch) bool {
	if b.Control() {
		return true
	}
	fits := true
	err := b.EachRaw(maxBody, func(r batch.Raw) error {
		if r.Key != nil && fits {
			fits = k.put(r.Key, b.BaseOffset()+int64(r.Delta))
		}
		return nil
	})
	return fits || err != nil
}

// Pass cleans batches, in the order of offsets, with the keys learned.
type Pass struct {
	Keys      *Keys
	Now       int64 // Unix ms
	Tombstone int64 // ms that tombstones and markers stay after they were first met

	Horizon int64 // the earliest time at which a tombstone or marker met is over; 0: none was met
}

// Outcome is what becomes of a batch.
type Outcome uint8

// The outcomes.
const (
	Same    Outcome = iota // it stays as it is
	Changed                // what is left of it takes its place
	Empty                  // nothing of it is left
)

// Clean decides on one batch. aborted says that its transaction was. With Changed it gives the new batch; with Empty a
// header without records, for who wants to keep that.
func (p *Pass) Clean(b batch.Batch, aborted bool) (Outcome, batch.Batch, error) {
	if aborted && !b.Control() {
		return p.empty(b)
	}
	horizon, cleaned := b.Horizon()
	over := cleaned && p.Now >= horizon
	if b.Control() {
		if over {
			return p.empty(b)
		}
		if cleaned {
			p.note(horizon)
			return Same, nil, nil
		}
	}
	var keep []batch.Raw
	n, tombstones := int32(0), false
	err := b.EachRaw(maxBody, func(r batch.Raw) error {
		n++
		if b.Control() || p.stays(b, r, over) {
			keep = append(keep, r)
			tombstones = tombstones || b.Control() || r.Key != nil && r.Value == nil
		}
		return nil
	})
	switch {
	case err != nil: // it is not understood, so it stays
		return Same, nil, nil
	case len(keep) == 0 && n > 0:
		return p.empty(b)
	}
	begin := int64(0)
	if tombstones {
		if !cleaned {
			stay := p.Tombstone
			if b.Control() {
				stay = max(stay, markerStay)
			}
			begin = max(p.Now+stay, 1)
			if begin < p.Now {
				begin = 1<<63 - 1
			}
			horizon = begin
		}
		p.note(horizon)
	}
	if len(keep) == int(n) && begin == 0 {
		return Same, nil, nil
	}
	w := b.Rewrite(begin)
	for _, r := range keep {
		w.Keep(r)
	}
	out, err := w.Batch()
	return Changed, out, err
}

// stays decides on a record of data (I2). Without a key it can't be superseded.
func (p *Pass) stays(b batch.Batch, r batch.Raw, over bool) bool {
	if r.Key == nil {
		return true
	}
	if last, ok := p.Keys.last(r.Key); ok && last > b.BaseOffset()+int64(r.Delta) {
		return false
	}
	return r.Value != nil || !over
}

func (p *Pass) note(horizon int64) {
	if p.Horizon == 0 || horizon < p.Horizon {
		p.Horizon = horizon
	}
}

func (p *Pass) empty(b batch.Batch) (Outcome, batch.Batch, error) {
	out, err := b.Rewrite(0).Batch()
	return Empty, out, err
}
