package host

import (
	"sync"
	"time"

	"github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/connect-api/connectpb"
	"github.com/penstockio/penstock/connect-api/internal/wire"
)

// ackPause is the least time between two acks without Produced.
const ackPause = 5 * time.Millisecond

// ackState is how far a source was acknowledged, and what of it the plugin was told.
type ackState struct {
	mu     sync.Mutex // held while an ack is sent: a resent one may not overtake the same with Produced
	acked  uint64
	sentAt time.Time
	timer  *time.Timer // sends the last ack again; set when the source is open
	soon   bool        // timer runs to send an ack that came too soon after the one before
}

// Ack tells the plugin that all positions up to and with this batch are durable. produced, of this batch, only if the
// connector wants it. Acks never go back; those that follow each other closely go as one.
func (s *Source) Ack(batch uint64, produced []connectapi.Produced) error {
	a := &s.acks
	a.mu.Lock()
	defer a.mu.Unlock()
	if batch <= a.acked {
		return nil
	}
	a.acked = batch
	if len(produced) == 0 {
		if a.soon {
			return nil
		}
		if since := time.Since(a.sentAt); since < ackPause {
			a.soon = true
			a.timer.Reset(ackPause - since)
			return nil
		}
	}
	return s.sendAck(batch, produced)
}

// sendAck needs the lock of acks.
func (s *Source) sendAck(batch uint64, produced []connectapi.Produced) error {
	s.acks.sentAt, s.acks.soon = time.Now(), false
	s.acks.timer.Reset(s.opts.AckAgain)
	return s.send(&connectpb.Frame{Msg: &connectpb.ToSource{Msg: &connectpb.ToSource_Ack{
		Ack: &connectpb.Ack{Batch: batch, Produced: wire.Produced(produced)},
	}}})
}

// sendAckAgain is the timer's: it sends the ack that waited, or the last one again.
func (s *Source) sendAckAgain() {
	s.acks.mu.Lock()
	defer s.acks.mu.Unlock()
	select {
	case <-s.ended:
		return
	default:
	}
	if s.acks.acked == 0 {
		s.acks.timer.Reset(s.opts.AckAgain)
		return
	}
	_ = s.sendAck(s.acks.acked, nil) // a broken stream shows in Recv
}

func (a *ackState) start(after time.Duration, f func()) {
	a.mu.Lock() // f may run before AfterFunc has returned
	defer a.mu.Unlock()
	a.timer = time.AfterFunc(after, f)
}

// stop stops the timer, once the stream has ended.
func (a *ackState) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.timer != nil {
		a.timer.Stop()
	}
}
