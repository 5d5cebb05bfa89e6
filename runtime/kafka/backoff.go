package kafka

import (
	"math/rand/v2"
	"time"
)

const (
	firstBackoff = 250 * time.Millisecond
	lastBackoff  = time.Second
)

// backoff is how long a client waits after so many failures in a row. The library's own grows to five seconds, and a sink or a
// worker whose broker came back would not join its group again before they are over.
func backoff(failures int) time.Duration {
	d := min(firstBackoff<<min(max(failures-1, 0), 8), lastBackoff)
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64())) // not all members at once
}
