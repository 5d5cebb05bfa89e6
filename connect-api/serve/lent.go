package serve

import (
	"bytes"
	"fmt"
	"log/slog"

	"github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/connect-api/connectpb"
	"github.com/penstockio/penstock/connect-api/internal/shared"
)

// lent is memory of the host in which rows come to a sink task.
type lent struct {
	mem    *shared.Memory // nil: none, all rows come in messages
	owed   []uint32       // slots that are done with and not granted again yet
	copies bool           // the task keeps rows: it is given copies
	kept   bool           // something may point into mem for ever
}

// open maps what the host offers. Without it rows come in messages, so it is no error that it cannot be.
func (l *lent) open(offer *connectpb.Shared, log *slog.Logger) {
	if offer == nil {
		return
	}
	mem, err := shared.Open(offer.Path, int(offer.Slots), int(offer.SlotBytes))
	if err != nil {
		log.Info("the worker's memory cannot be shared; rows come through the socket", "error", err.Error())
		return
	}
	l.mem = mem
	for n := range offer.Slots {
		l.owed = append(l.owed, n+1)
	}
}

// rows returns a batch's rows, wherever they stand.
func (l *lent) rows(f *connectpb.Frame) ([]byte, error) {
	if f.Slot == 0 {
		return f.Rows, nil
	}
	slot := l.mem.Slot(f.Slot)
	if slot == nil || uint64(f.Length) > uint64(len(slot)) {
		return nil, &connectapi.Error{
			Kind: connectapi.System,
			Err:  fmt.Errorf("the worker broke the protocol: batch %d has %d bytes in slot %d of shared memory, which is none, or smaller", f.ID, f.Length, f.Slot),
		}
	}
	rows := slot[:f.Length:f.Length]
	if l.copies {
		rows = bytes.Clone(rows)
	}
	return rows, nil
}

// done gives back the slot of a batch that was written (I7). One whose rows the task keeps stays as it is for ever; the task is given
// copies from then on.
func (l *lent) done(slot uint32, retained bool) {
	if retained && !l.copies {
		l.copies, l.kept = true, true
		return
	}
	l.owed = append(l.owed, slot)
}

// due says whether so many slots wait to be granted that the host may soon have none.
func (l *lent) due() bool { return l.mem != nil && len(l.owed) >= l.mem.Slots()/2 }

// close unmaps the memory once the task has closed.
func (l *lent) close() {
	if l.mem != nil && !l.kept {
		_ = l.mem.Close() // it goes with the process
	}
}
