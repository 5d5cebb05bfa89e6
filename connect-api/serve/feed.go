package serve

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/penstockio/penstock/connect-api/connectpb"
)

const (
	readAhead  = 16                   // messages that are read while the worker is busy
	busyPeriod = 5 * time.Millisecond // of which the worker spends one or two before another goroutine reads for it
)

// feed gives a stream's messages to the one goroutine that works on them. That goroutine reads the stream itself: handing each
// batch from one goroutine to another costs more than the batch's bytes. But a host that has credit must never be held back
// (its Send would wait), so a worker that is busy for long has its messages read ahead, by the goroutine of a timer, until it
// comes for more.
type feed struct {
	*stream
	empty func() *connectpb.Frame

	reading sync.Mutex            // held by who reads
	ahead   chan *connectpb.Frame // what was read ahead
	freed   chan struct{}         // reading ahead has ended
	own     *connectpb.Frame      // read by the worker itself

	turn  atomic.Uint64 // odd: the worker is busy
	timer *time.Timer
	armed atomic.Bool // timer is running
	seen  uint64      // turn, when the timer last fired
}

func (d *feed) init(s *stream, empty func() *connectpb.Frame) {
	d.stream, d.empty, d.own = s, empty, empty()
	d.ahead, d.freed = make(chan *connectpb.Frame, readAhead), make(chan struct{}, 1)
	d.turn.Store(1)
	d.timer = time.AfterFunc(time.Hour, d.watch)
}

func (d *feed) close() { d.timer.Stop() }

// next returns the next message, valid until the next call; nil: the stream has ended, or the process does.
func (d *feed) next() *connectpb.Frame {
	d.turn.Add(1)
	f := d.wait()
	d.turn.Add(1)
	if !d.armed.Load() {
		d.arm()
	}
	return f
}

func (d *feed) arm() {
	d.armed.Store(true)
	d.timer.Reset(busyPeriod)
}

func (d *feed) wait() *connectpb.Frame {
	for {
		select {
		case f := <-d.ahead:
			return f
		default:
		}
		if d.reading.TryLock() {
			return d.read()
		}
		select {
		case f := <-d.ahead:
			return f
		case <-d.freed:
		case <-d.ctx.Done():
			return nil
		}
	}
}

// read reads a message in the worker's goroutine, which holds reading.
func (d *feed) read() *connectpb.Frame {
	defer d.reading.Unlock()
	select {
	case f := <-d.ahead: // came just before
		return f
	default:
	}
	if !d.own.IsBatch {
		d.own = d.empty()
	}
	if d.raw.RecvMsg(d.own) != nil {
		d.stop()
		return nil
	}
	return d.own
}

// watch is the timer's: it reads ahead if the worker is still busy with what it was when the timer fired last.
func (d *feed) watch() {
	d.armed.Store(false)
	turn := d.turn.Load()
	switch {
	case turn%2 == 0:
		return // it waits for messages: next arms the timer again
	case turn == d.seen:
		d.readAhead()
	default:
		d.seen = turn
		d.arm()
	}
}

// readAhead reads until the worker waits for messages or the stream ends.
func (d *feed) readAhead() {
	if !d.reading.TryLock() {
		return // the worker reads again
	}
	defer poke(d.freed) // after Unlock: the worker may be waiting for one who reads
	defer d.reading.Unlock()
	for d.turn.Load()%2 == 1 {
		f := d.empty()
		if d.raw.RecvMsg(f) != nil {
			d.stop()
			return
		}
		select {
		case d.ahead <- f:
		case <-d.ctx.Done():
			f.Release()
			return
		}
	}
}
