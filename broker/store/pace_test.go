package store

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestPace(t *testing.T) {
	ctx := context.Background()
	p := pace{rate: 1 << 20}
	began := time.Now()
	for range 1000 { // 200 KiB in small pieces
		if err := p.take(ctx, 200); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.take(ctx, 1); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < 180*time.Millisecond {
		t.Fatalf("took %v, at this rate it takes 190 ms", took)
	}
	if err := p.take(ctx, 1<<30); err != nil { // it is the next one who pays
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	if err := p.take(short, 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	free := pace{rate: -1}
	if err := free.take(ctx, 1<<40); err != nil {
		t.Fatal(err)
	}
}
