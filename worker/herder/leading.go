package herder

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/penstockio/penstock/rest/api"
	"github.com/penstockio/penstock/runtime/kafka/table"
)

// conflict begins what is answered when the group changed under a call; the literal is Kafka Connect's, and whoever passed the
// call on asks again.
const conflict = "Cannot complete request because of a conflicting operation (e.g. worker rebalance)"

// writeTimeout bounds a write to the config topic with all it waits for: its place in the group, its turn, the broker.
const writeTimeout = 30 * time.Second

// silencePatience is how long a call waits for a broker that does not answer: one that is just back is met within that.
const silencePatience = 5 * time.Second

// beginWrite waits for the turn to write to the config topic, and gives the context to write with: one that a caller who goes
// away does not end. A node that does not reach its group soon says so.
func (h *Herder) beginWrite(ctx context.Context) (write context.Context, end func(), err error) {
	until := time.Now().Add(writeTimeout)
	wait, enough := context.WithDeadline(ctx, until)
	defer enough()
	h.awaitAnswer(wait)
	if err := h.awaitPlace(wait); err != nil {
		return nil, nil, err
	}
	select {
	case h.write <- struct{}{}:
	case <-wait.Done():
		return nil, nil, api.Errorf(http.StatusInternalServerError,
			"Nothing was changed: a write before this one still waits for the broker (%v); try again when /health is healthy", wait.Err())
	}
	write, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	write, cancel := context.WithDeadline(write, until)
	goOn := context.AfterFunc(h.runCtx, func() { cut(errStops) })
	return write, func() { goOn(); cancel(); cut(nil); <-h.write }, nil
}

// errStops is what a write meets that is not done when the worker stops.
var errStops = errors.New("the worker is shutting down")

// awaitAnswer asks the broker, for a moment, when this node has lost its place for want of an answer.
func (h *Herder) awaitAnswer(ctx context.Context) {
	h.mu.Lock()
	silent := h.lost != nil && !h.rejoins()
	h.mu.Unlock()
	if !silent {
		return
	}
	ask, cancel := context.WithTimeout(ctx, silencePatience)
	defer cancel()
	defer context.AfterFunc(h.runCtx, cancel)()
	if h.ask(ask) == nil {
		h.mu.Lock()
		h.answered = true
		h.mu.Unlock()
	}
}

// awaitPlace waits while this node is about to take its place in the group again.
func (h *Herder) awaitPlace(ctx context.Context) error {
	for {
		h.mu.Lock()
		lost, rejoins := h.lost, h.rejoins()
		h.mu.Unlock()
		if lost == nil {
			return nil
		}
		if !rejoins || ctx.Err() != nil || h.runCtx.Err() != nil {
			return outOfGroup(lost)
		}
		time.Sleep(leasePause)
	}
}

// rejoins tells of a lost place, under mu, that another is a moment away: the group answered, or the broker does again. Without
// an answer it may take long.
func (h *Herder) rejoins() bool {
	return h.lost != nil && (h.answered || errors.Is(h.lost, kerr.UnknownMemberID) || errors.Is(h.lost, kerr.IllegalGeneration))
}

// beginLeading is beginWrite for what only the leader writes: while its place is sure, as the holder of the right to write.
// One that was fenced tries no more before the next round: its successor, if there is one, must not be fenced in turn.
func (h *Herder) beginLeading(ctx context.Context) (write context.Context, end func(), err error) {
	write, unlock, err := h.beginWrite(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			unlock()
		}
	}()
	for {
		h.mu.Lock()
		leads, term, fenced := h.place.leader && h.lost == nil, h.term, h.term == h.fencedTerm
		h.mu.Unlock()
		if !leads || fenced {
			return nil, nil, api.Errorf(http.StatusConflict, conflict+": this worker does not lead its group any more")
		}
		lease := h.Lease()
		if lease == nil {
			if err := h.Lead(write); err != nil {
				return nil, nil, nothingChanged(err)
			}
			return write, func() { h.endLeading(term); unlock() }, nil
		}
		select {
		case <-time.After(leasePause):
		case <-write.Done():
			return nil, nil, nothingChanged(lease)
		case <-h.stopped:
			return nil, nil, errStops
		}
	}
}

// nothingChanged says of a call that it ended before it wrote.
func nothingChanged(why error) error {
	return api.Errorf(http.StatusInternalServerError, "Nothing was changed: taking the right to write configurations failed: %v", why)
}

// endLeading asks for a new round when the write showed that another leads, or thought so. After any other failure it takes the
// right anew: that ends a transaction that the write may have left open, behind which nobody would see what is written.
func (h *Herder) endLeading(term int) {
	switch broken := h.Configs.Broken(); {
	case broken == nil:
		return
	case !errors.Is(broken, table.ErrFenced):
		go h.retake()
		return
	}
	h.Log.Warn("another worker has taken the right to write configurations; this one asks for a new round of the group")
	h.mu.Lock()
	h.fencedTerm = term
	h.mu.Unlock()
	h.rejoin()
}

// retake takes the right to write anew, unless a write does before.
func (h *Herder) retake() {
	_, end, err := h.beginLeading(h.runCtx)
	if err != nil {
		h.Log.Debug("taking the right to write configurations anew failed; the next write tries again", "error", err)
		return
	}
	end()
}

// unlead gives the right to write up.
func (h *Herder) unlead() {
	h.write <- struct{}{}
	defer func() { <-h.write }()
	h.mu.Lock()
	leads := h.place.leader && h.lost == nil
	h.mu.Unlock()
	if !leads {
		h.Configs.Unlead()
	}
}

// conflicting says of a write that was fenced what clients try again on.
func conflicting(err error) error {
	if errors.Is(err, table.ErrFenced) {
		return api.Errorf(http.StatusConflict, "%s: %v", conflict, err)
	}
	return err
}
