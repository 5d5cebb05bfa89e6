package kafka

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"regexp"
	"strconv"
	"testing"
	"time"
)

func TestSparing(t *testing.T) {
	began := time.Now()
	var p sparing
	for i, c := range []struct {
		after time.Duration
		held  int
		ok    bool
	}{
		{0, 0, true},
		{1, 0, true},
		{2, 0, true},
		{3, 0, false},
		{time.Second - 1, 0, false},
		{time.Second, 2, true},
		{time.Second - 1, 0, true}, // of a connection that was slower
		{time.Second + 1, 0, true},
		{time.Second + 2, 0, false},
		{time.Hour, 1, true},
		{2 * time.Hour, 0, true},
	} {
		if held, ok := p.next(began.Add(c.after)); held != c.held || ok != c.ok {
			t.Errorf("%d: after %v: %d held back, %v; want %d, %v", i, c.after, held, ok, c.held, c.ok)
		}
	}
}

// TestMalformedRequestsAreLoggedSparingly: whoever sends rubbish on many connections does not fill the log, and the log says
// how much there was.
func TestMalformedRequestsAreLoggedSparingly(t *testing.T) {
	var out bytes.Buffer // slog's handlers write one line at a time
	s := New(Config{}, Parts{}, slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelWarn})), nil)
	const n = 200
	began := time.Now()
	for range n {
		peer, nc := net.Pipe()
		if err := s.ServeConn(nc, &Session{Listener: "test"}, DefaultLimits()); err != nil {
			t.Fatal(err)
		}
		if _, err := peer.Write([]byte{0, 0, 0, 10, 0x7f, 0xff, 0, 0, 0, 0, 0, 1, 0xff, 0xff}); err != nil { // key 32767
			t.Fatal(err)
		}
		if _, err := peer.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Fatalf("the connection was not ended: %v", err)
		}
		peer.Close()
	}
	if err := s.Drain(context.Background()); err != nil {
		t.Fatal(err)
	}
	most := linesASecond * (1 + int(time.Since(began)/time.Second))
	lines := regexp.MustCompile(`msg="ending a connection".*key 32767 is not served.* alike_not_logged=(\d+)\n`).FindAllSubmatch(out.Bytes(), -1)
	told := len(lines) + s.misfits.held
	for _, l := range lines {
		held, err := strconv.Atoi(string(l[1]))
		if err != nil {
			t.Fatal(err)
		}
		told += held
	}
	if len(lines) == 0 || len(lines) > most || told != n || bytes.Count(out.Bytes(), []byte("\n")) != len(lines) {
		t.Errorf("%d lines, at most %d are wanted; they tell of %d requests of %d:\n%s", len(lines), most, told, n, out.Bytes())
	}
}
