package testenv

import (
	"os"
	"strconv"
	"testing"
)

// Seed is what a random test begins its random numbers with, and logs it: PENSTOCK_TEST_SEED, or a fixed one. So make test tries the same
// each time, a failure is seen again with the logged seed, and make chaos and make clients try another each time.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := uint64(1796017368423061408) // one that found something once
	if v := os.Getenv("PENSTOCK_TEST_SEED"); v != "" {
		n, err := strconv.ParseUint(v, 10, 64)
		if err != nil {
			t.Fatalf("PENSTOCK_TEST_SEED=%q: %v", v, err)
		}
		seed = n
	}
	t.Logf("PENSTOCK_TEST_SEED=%d", seed)
	return seed
}
