package kafka

import (
	"sync"
	"time"
)

// linesASecond is how many lines of one kind peers can make the server log.
const linesASecond = 3

// sparing bounds the lines that peers make the server log, over all connections, and counts those it held back.
type sparing struct {
	mu    sync.Mutex
	began time.Time // of the second that is counted
	lines int       // let through in it
	held  int       // back since the last line that was let through
}

// next tells whether one more line may be logged, and how many were not since the last.
func (p *sparing) next(now time.Time) (held int, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Sub(p.began) >= time.Second {
		p.began, p.lines = now, 0
	}
	if p.lines == linesASecond {
		p.held++
		return 0, false
	}
	p.lines++
	held, p.held = p.held, 0
	return held, true
}
