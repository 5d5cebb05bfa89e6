package kafka

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestAClientDoesNotRepeatItself: the same message comes once in a while, with the number of those between; others, and those for
// whoever looks for more, always.
func TestAClientDoesNotRepeatItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := newSlogger(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))
		for range 1000 {
			l.Log(kgo.LogLevelWarn, "broker is down", "partition", 1)
			l.Log(kgo.LogLevelError, "worse", "partition", 1)
		}
		time.Sleep(repeatAfter)
		l.Log(kgo.LogLevelWarn, "broker is down", "partition", 2)
		time.Sleep(repeatAfter)
		l.Log(kgo.LogLevelWarn, "broker is down", "partition", 3)
		l.Log(kgo.LogLevelInfo, "detail")
		l.Log(kgo.LogLevelInfo, "detail")
		want := []string{
			`level=INFO msg="broker is down" partition=1`, `level=WARN msg=worse partition=1`,
			`level=INFO msg="broker is down" partition=2 left_out_before=999`, `level=INFO msg="broker is down" partition=3`,
			`level=DEBUG msg=detail`, `level=DEBUG msg=detail`,
		}
		got := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(got) != len(want) {
			t.Fatalf("%d lines:\n%s", len(got), out.String())
		}
		for i := range got {
			if _, line, _ := strings.Cut(got[i], " "); line != want[i] {
				t.Errorf("got  %s\nwant %s", line, want[i])
			}
		}
	})
}
