package kafka

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/semaphore"
)

// call is one request under way.
type call struct {
	ctx     context.Context // ends when the peer is gone or the server drains
	session *Session
	req     kmsg.Request
	arrived time.Time
	files   bool // the connection takes pieces of files
}

// answer is what a handler hands to its connection's writer.
type answer struct {
	resp    kmsg.Response // nil: nothing is answered (acks=0)
	batches []spliced     // of a Fetch, in the order of its partitions: sent in place of their RecordBatches
	wait    func()        // completes resp; called once, by the writer, in order
	release func()        // gives memory back after the answer is written
	hangUp  func() bool   // asked after wait: end the connection instead of answering
}

// delivery is an answer on its way to the writer.
type delivery struct {
	answer
	correlation int32
	key         int16
	arrived     time.Time
	bytes       int64
}

type conn struct {
	s       *Server
	nc      net.Conn
	session *Session
	limits  Limits
	files   bool // nc is a socket, which files can be sent to
	log     *slog.Logger

	frames chan []byte   // reader to handler, no buffer: one frame is read ahead
	out    chan delivery // handler to writer: its capacity bounds requests under way
	bytes  *semaphore.Weighted
	reads  chan struct{} // holds a token for each Fetch under way: their answers are what is large
	active atomic.Int32  // requests read and not answered
}

// readsAtOnce is how many Fetches of one connection may be under way: one is sent while the next is read.
const readsAtOnce = 2

func newConn(s *Server, nc net.Conn, session *Session, limits Limits) *conn {
	_, socket := nc.(*net.TCPConn)
	return &conn{
		files:   socket,
		s:       s,
		nc:      nc,
		session: session,
		limits:  limits,
		log:     s.log.With("listener", session.Listener, "peer", session.Address),
		frames:  make(chan []byte),
		out:     make(chan delivery, limits.InFlight),
		bytes:   semaphore.NewWeighted(limits.InFlightBytes),
		reads:   make(chan struct{}, readsAtOnce),
	}
}

// run serves the connection until the peer is gone, misbehaves, or ctx ends; then it answers what is under way.
func (c *conn) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(c.frames)
		defer cancel() // whoever is parked for this peer may stop waiting
		c.read(ctx)
	})
	wg.Go(func() {
		c.write()
		cancel()
		c.nc.Close() // ends the reader
	})
	stop := context.AfterFunc(ctx, func() { _ = c.nc.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	for frame := range c.frames {
		if !c.handle(ctx, frame) {
			cancel()
			break
		}
	}
	close(c.out)
	for frame := range c.frames { // what was read ahead is not begun
		c.bytes.Release(c.weight(len(frame)))
	}
	wg.Wait()
}

func (c *conn) weight(n int) int64 { return min(int64(n), c.limits.InFlightBytes) }

// read hands frames on until the connection or ctx ends.
func (c *conn) read(ctx context.Context) {
	timeout := c.limits.Handshake
	src := &patientReader{c: c, ctx: ctx, timeout: &timeout}
	r := bufio.NewReaderSize(src, 16<<10)
	for {
		src.between = true
		size, err := readSize(r, c.limits.FrameBytes)
		src.between = false
		if err != nil {
			c.ended(ctx, err)
			return
		}
		if c.bytes.Acquire(ctx, c.weight(size)) != nil {
			return
		}
		frame, err := readBody(r, size)
		if err != nil {
			c.ended(ctx, err)
			return
		}
		timeout = c.limits.Idle
		c.active.Add(1)
		c.s.metrics.bytesIn.Add(float64(size + 4))
		select {
		case c.frames <- frame:
		case <-ctx.Done():
			return
		}
	}
}

// ended logs why reading stopped, unless it is the ordinary end.
func (c *conn) ended(ctx context.Context, err error) {
	if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || ctx.Err() != nil || errors.Is(err, io.ErrClosedPipe) {
		return
	}
	c.log.Info("connection ended", "error", err)
}

// patientReader gives every read of the connection a time to bring a byte; between frames, time passes only while no
// request is under way.
type patientReader struct {
	c       *conn
	ctx     context.Context
	timeout *time.Duration
	between bool
}

func (p *patientReader) Read(b []byte) (int, error) {
	for {
		if err := p.ctx.Err(); err != nil {
			return 0, err
		}
		if err := p.c.nc.SetReadDeadline(time.Now().Add(*p.timeout)); err != nil {
			return 0, err
		}
		if err := p.ctx.Err(); err != nil { // the deadline may have replaced the one that ends us
			return 0, err
		}
		n, err := p.c.nc.Read(b)
		if n == 0 && errors.Is(err, os.ErrDeadlineExceeded) && p.between && p.c.active.Load() > 0 {
			continue
		}
		return n, err
	}
}

// handle begins one request and hands its answer to the writer; false ends the connection (I2).
func (c *conn) handle(ctx context.Context, frame []byte) bool {
	arrived := time.Now()
	// Requests' bytes alias the frame, but nothing that outlives the handler does: the log has copied what it took.
	defer frames.Give(frame)
	h, k, req, tooNew, err := decode(frame)
	if err != nil {
		if held, ok := c.s.misfits.next(arrived); ok {
			c.log.Warn("ending a connection", "client", h.clientID, "error", err, "alike_not_logged", held)
		}
		c.bytes.Release(c.weight(len(frame)))
		return false
	}
	session := c.session
	if session.clientID != h.clientID {
		cp := *session
		cp.clientID = h.clientID
		session = &cp
		c.session = session
	}
	if h.key == fetchKey {
		select {
		case c.reads <- struct{}{}:
		case <-ctx.Done():
			c.bytes.Release(c.weight(len(frame)))
			return false
		}
	}
	var a answer
	if tooNew {
		a.resp = versionsAnswer(0, errUnsupportedVersion)
	} else {
		a, err = c.call(k, &call{ctx: ctx, session: session, req: req, arrived: arrived, files: c.files})
		if err != nil {
			c.log.Error("ending a connection", "client", h.clientID, "request", kmsg.NameForKey(h.key), "version", h.version, "error", err)
			c.bytes.Release(c.weight(len(frame)))
			return false
		}
	}
	c.s.throttle(session, h.key, a.resp)
	c.out <- delivery{answer: a, correlation: h.correlation, key: h.key, arrived: arrived, bytes: c.weight(len(frame))}
	return true
}

// call runs a handler. A panic in one is a bug of ours: it ends this connection and not the broker that others use.
func (c *conn) call(k *apiKey, in *call) (a answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			c.s.panics.Add(1)
			err = fmt.Errorf("the handler panicked: %v\n%s", p, debug.Stack())
		}
	}()
	return k.handle(c.s, in), nil
}

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}

// keptBuffer is the largest encoding buffer that is kept for the next answer.
const keptBuffer = 2 << 20

// write sends answers in order (I1). After a failure it only drains, so that handlers and tickets end.
func (c *conn) write() {
	failed := false
	for d := range c.out {
		if d.wait != nil {
			d.wait()
		}
		if d.hangUp != nil && d.hangUp() {
			c.log.Info("ending a connection: a produce with acks=0 was refused")
			failed = true
			c.nc.Close()
		}
		if d.resp != nil && !failed {
			if err := c.send(d); err != nil {
				failed = true
				c.nc.Close()
			}
		}
		if d.release != nil {
			d.release()
		}
		if d.key == fetchKey {
			<-c.reads
		}
		c.s.metrics.answered(d.key, time.Since(d.arrived))
		c.active.Add(-1)
		c.bytes.Release(d.bytes)
	}
}

func (c *conn) send(d delivery) error {
	buf := buffers.Get().(*[]byte)
	g := encode((*buf)[:0], d.correlation, d.resp, d.batches)
	defer func() {
		if cap(g.buf) <= keptBuffer {
			*buf = g.buf[:0]
			buffers.Put(buf)
		}
	}()
	c.s.metrics.bytesOut.Add(float64(len(g.buf) + g.size))
	return g.send(c.nc, c.limits.Write)
}
