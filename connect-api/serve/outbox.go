package serve

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/connect-api/connectpb"
	"github.com/penstockio/penstock/connect-api/internal/wire"
)

// outbox holds what was read and not yet sent: Read goes on filling the next batch meanwhile, and small reads become one
// batch.
type outbox struct {
	maxBatch int

	mu      sync.Mutex
	acc     *connectapi.Batch
	since   time.Time // acc's first row; not kept when acc is large
	schemas []connectapi.AnnouncedSchema
	routes  []connectapi.AnnouncedRoute
	credit  int
	based   bool

	changed chan struct{} // to the sender: rows or credit came
	room    chan struct{} // to the reader: acc was taken

	sendMu sync.Mutex // taking and sending go together, so that batches leave in order
	lastID uint64     // under sendMu
}

func (o *outbox) init(maxBatch int) {
	o.maxBatch = maxBatch
	o.acc = connectapi.NewBatch(nil)
	o.changed, o.room = make(chan struct{}, 1), make(chan struct{}, 1)
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (o *outbox) grant(n int) {
	o.mu.Lock()
	o.credit += n
	waiting := o.waiting()
	o.mu.Unlock()
	if waiting { // else there is nothing to send, and who reads looks at the credit itself
		poke(o.changed)
	}
}

// waiting says whether something is there to be sent.
func (o *outbox) waiting() bool { return o.acc.Len() > 0 || len(o.acc.Marks()) > 0 }

// large says whether what waits is sent without waiting for its age.
func (o *outbox) large() bool { return o.acc.Size() >= o.maxBatch/2 }

// add moves b's rows behind those that wait, once there is room (I5). When ctx ends first they are kept all the same: what
// was read is sent. due: a batch is full and may be sent.
func (o *outbox) add(ctx context.Context, b *connectapi.Batch, catalog *connectapi.Catalog) (due bool) {
	if b.Len() == 0 && len(b.Marks()) == 0 {
		return false
	}
	for {
		o.mu.Lock()
		waiting := o.waiting()
		if !waiting || o.acc.Size()+b.Size() <= o.maxBatch {
			if o.acc.Merge(b) {
				if !waiting && !o.large() {
					o.since = time.Now()
				}
				schemas, routes := catalog.Announce()
				o.schemas, o.routes = append(o.schemas, schemas...), append(o.routes, routes...)
				if !o.based { // from now on all times count from one base, so that batches merge
					o.based = true
					b.SetBase(o.acc.Base())
				}
				due := o.large() && o.credit > 0
				o.mu.Unlock()
				if !due && !waiting {
					poke(o.changed) // the sender's clock starts
				}
				return due
			}
		}
		o.mu.Unlock()
		poke(o.changed)
		select {
		case <-o.room:
		case <-ctx.Done():
			ctx = context.WithoutCancel(ctx) // the sender still takes what waits
		}
	}
}

// parcel is what the sender sends at once.
type parcel struct {
	schemas []connectapi.AnnouncedSchema
	routes  []connectapi.AnnouncedRoute
	rows    []byte
	count   int
	base    int64
	marks   []connectapi.Mark
}

// take returns what is due, or how long to wait for it; 0: until something changes.
func (o *outbox) take(hurry bool) (p *parcel, wait time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.waiting() || o.credit <= 0 {
		return nil, 0
	}
	if !hurry && !o.large() {
		if age := time.Since(o.since); age < batchAge {
			return nil, batchAge - age
		}
	}
	size := o.acc.Size()
	p = &parcel{
		schemas: o.schemas, routes: o.routes, count: o.acc.Len(), base: o.acc.Base(),
		marks: append([]connectapi.Mark(nil), o.acc.Marks()...),
	}
	p.rows = o.acc.Detach(*connectpb.Buffers.Get(max(size, 1<<10)))
	o.schemas, o.routes = nil, nil
	o.credit -= len(p.rows)
	poke(o.room)
	return p, 0
}

// sendDue sends what is due, if anything is; else how long to wait for it.
func (t *source) sendDue(hurry bool) (sent bool, wait time.Duration, err error) {
	if t.ear.silent() {
		return false, earPause, nil // it reads on, and sends when the host is there again
	}
	t.out.sendMu.Lock()
	defer t.out.sendMu.Unlock()
	p, wait := t.out.take(hurry)
	if p == nil {
		return false, wait, nil
	}
	return true, 0, t.sendParcel(p)
}

func (o *outbox) empty() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.waiting()
}

// sendLoop sends batches until reading has ended and all that was read is sent. Full ones are sent by the reading goroutine
// itself, which saves a change of goroutines a batch; this one sends those that are due by their age, or waited for credit.
func (t *source) sendLoop() error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	ended := t.readEnd
	for {
		over := ended == nil
		sent, wait, err := t.sendDue(over)
		if err != nil {
			return err
		}
		if sent {
			continue
		}
		if over && t.out.empty() {
			return nil
		}
		if wait == 0 {
			wait = time.Hour
		}
		timer.Reset(wait)
		select {
		case <-t.out.changed:
		case <-timer.C:
		case <-ended:
			ended = nil
		case <-t.hang():
			return fmt.Errorf("Read did not return within %v after stop", readGrace)
		case <-t.ctx.Done():
			return t.ctx.Err()
		}
	}
}

// hang fires when Read has been asked to return for too long.
func (t *source) hang() <-chan time.Time {
	select {
	case <-t.stopC:
	default:
		return nil
	}
	t.endMu.Lock()
	defer t.endMu.Unlock()
	if t.hangTimer == nil {
		t.hangTimer = time.NewTimer(readGrace)
	}
	select {
	case <-t.readEnd:
		return nil
	default:
		return t.hangTimer.C
	}
}

func (t *source) sendParcel(p *parcel) error {
	for _, a := range p.schemas {
		if err := t.tell(&connectpb.FromSource{Msg: &connectpb.FromSource_Schema{Schema: wire.Schema(a.ID, a.Schema)}}); err != nil {
			return err
		}
	}
	for _, a := range p.routes {
		if err := t.tell(&connectpb.FromSource{Msg: &connectpb.FromSource_Route{Route: wire.Route(a)}}); err != nil {
			return err
		}
	}
	if len(p.rows) <= t.limit {
		return t.sendBatch(p.rows, p.count, p.base, p.marks)
	}
	return t.sendParts(p)
}

// sendParts splits rows that are too many for one message, at their borders.
func (t *source) sendParts(p *parcel) error {
	r := connectapi.NewReader(p.rows)
	from, count, sent := 0, 0, 0
	flush := func(to int, last bool) error {
		var marks []connectapi.Mark
		for len(p.marks) > 0 && (last || p.marks[0].Rows <= sent+count) {
			m := p.marks[0]
			m.Rows -= sent
			marks = append(marks, m)
			p.marks = p.marks[1:]
		}
		rows := *connectpb.Buffers.Get(to - from)
		copy(rows, p.rows[from:to])
		err := t.sendBatch(rows, count, p.base, marks)
		from, sent, count = to, sent+count, 0
		return err
	}
	for r.Len() > 0 {
		at := r.Offset()
		r.SkipRow()
		if count > 0 && r.Offset()-from > t.limit {
			if err := flush(at, false); err != nil {
				return err
			}
		}
		count++
	}
	return flush(len(p.rows), true)
}

func (t *source) sendBatch(rows []byte, count int, base int64, marks []connectapi.Mark) error {
	t.out.lastID++
	t.acks.sent(t.out.lastID, marks)
	return t.send(&connectpb.Frame{
		Field: connectpb.SourceBatchField, IsBatch: true, ID: t.out.lastID, Count: uint32(count), Base: base,
		Positions: wire.Marks(marks), Rows: rows,
	})
}
