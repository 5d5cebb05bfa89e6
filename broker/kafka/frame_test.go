package kafka

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTableIsClosedAndWithinWhatCanBeDecoded(t *testing.T) {
	last := int16(-1)
	for _, k := range table {
		if k.key <= last {
			t.Errorf("key %d stands after %d", k.key, last)
		}
		last = k.key
		req := kmsg.RequestForKey(k.key)
		if req == nil || k.handle == nil || k.min > k.max || k.max > req.MaxVersion() {
			t.Errorf("key %d: versions %d to %d", k.key, k.min, k.max)
		}
	}
	for _, key := range []int16{68, 71, 72} { // half a feature is worse than none
		if lookup(key) != nil {
			t.Errorf("%s is advertised", kmsg.NameForKey(key))
		}
	}
}

func FuzzDecode(f *testing.F) {
	format := kmsg.NewRequestFormatter(kmsg.FormatterClientID("fuzz"))
	for _, k := range table {
		for v := k.min; v <= k.max; v++ {
			req := kmsg.RequestForKey(k.key)
			req.SetVersion(v)
			f.Add(format.AppendRequest(nil, req, 1)[4:])
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		_, k, req, tooNew, err := decode(b)
		if err != nil {
			return
		}
		if k == nil || req == nil || req.Key() != k.key && !tooNew {
			t.Fatal("a request without a key")
		}
		resp := req.ResponseKind()
		resp.SetVersion(req.GetVersion())
		out := appendResponse(nil, 1, resp)
		if int(binary.BigEndian.Uint32(out)) != len(out)-4 {
			t.Fatal("the size is wrong")
		}
	})
}

// TestStatedSizeTakesNoMemory: a peer that states a huge frame and sends little costs little.
func TestStatedSizeTakesNoMemory(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := readBody(bufio.NewReader(io.LimitReader(zeros{}, 10_000)), 1<<30); err == nil {
		t.Fatal("a short frame was accepted")
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 4*firstGrowth {
		t.Errorf("%d bytes were allocated for 10000", n)
	}
	body := bytes.Repeat([]byte("x"), 5*firstGrowth+17)
	got, err := readBody(bufio.NewReader(bytes.NewReader(body)), len(body))
	if err != nil || !bytes.Equal(got, body) {
		t.Fatal("a large frame is not what was sent", err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestSoftwareName(t *testing.T) {
	for s, want := range map[string]bool{"kgo": true, "a": true, "a.b-c": true, "": false, ".a": false, "a-": false, "a b": false, strings.Repeat("x", 300): true} {
		if softwareName(s) != want {
			t.Errorf("%q", s)
		}
	}
}

func TestChangeList(t *testing.T) {
	for _, c := range []struct {
		list, change string
		add          bool
		want         string
	}{
		{"delete", "compact", true, "delete,compact"},
		{"delete,compact", "delete", false, "compact"},
		{"", "a,b", true, "a,b"},
		{"a", "a", true, "a"},
		{"a", "b", false, "a"},
		{"a", "a", false, ""},
	} {
		if got := changeList(c.list, c.change, c.add); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
