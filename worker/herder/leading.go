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

// rejoinPatience is how long a write waits for a place that is just being taken again.
const rejoinPatience = 30 * time.Second

// beginWrite waits for the turn to write to the config topic. A node that does not reach its group says so at once.
func (h *Herder) beginWrite() (end func(), err error) {
	for began := time.Now(); ; time.Sleep(leasePause) {
		h.mu.Lock()
		lost := h.lost
		h.mu.Unlock()
		if lost == nil {
			h.write.Lock()
			return h.write.Unlock, nil
		}
		if !rejoining(lost) || time.Since(began) > rejoinPatience || h.runCtx != nil && h.runCtx.Err() != nil {
			return nil, outOfGroup(lost)
		}
	}
}

// rejoining tells of a lost place that the group answered: a new one is a moment away. Without an answer it may take long.
func rejoining(lost error) bool {
	return errors.Is(lost, kerr.UnknownMemberID) || errors.Is(lost, kerr.IllegalGeneration)
}

// beginLeading is beginWrite for what only the leader writes: while its place is sure, as the holder of the right to write.
// One that was fenced tries no more before the next round: its successor, if there is one, must not be fenced in turn.
func (h *Herder) beginLeading(ctx context.Context) (end func(), err error) {
	unlock, err := h.beginWrite()
	if err != nil {
		return nil, err
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
			return nil, api.Errorf(http.StatusConflict, conflict+": this worker does not lead its group any more")
		}
		if h.Lease() == nil {
			if err := h.Lead(ctx); err != nil {
				return nil, err
			}
			return func() { h.endLeading(term); unlock() }, nil
		}
		select {
		case <-time.After(leasePause):
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-h.stopped:
			return nil, errors.New("Worker is shutting down")
		}
	}
}

// endLeading asks for a new round when the write showed that another leads, or thought so.
func (h *Herder) endLeading(term int) {
	if !h.Configs.Fenced() {
		return
	}
	h.Log.Warn("another worker has taken the right to write configurations; this one asks for a new round of the group")
	h.mu.Lock()
	h.fencedTerm = term
	h.mu.Unlock()
	h.rejoin()
}

// unlead gives the right to write up.
func (h *Herder) unlead() {
	h.write.Lock()
	defer h.write.Unlock()
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
