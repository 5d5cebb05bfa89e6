package kafka

import (
	"testing"
	"time"
)

// TestBackoff proves that it begins short, grows, and stays near a second whatever the number of failures.
func TestBackoff(t *testing.T) {
	for failures, want := range map[int]time.Duration{
		-1: 250 * time.Millisecond, 0: 250 * time.Millisecond, 1: 250 * time.Millisecond, 2: 500 * time.Millisecond, 3: time.Second, 4: time.Second, 1 << 40: time.Second,
	} {
		for range 100 {
			if got := backoff(failures); got < want*8/10 || got > want*12/10 {
				t.Errorf("after %d failures: got %v, want %v with a fifth more or less", failures, got, want)
			}
		}
	}
}
