package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/penstockio/penstock/internal/testenv"
)

// lines splits a file's content; a last line without an end counts.
func lines(content string) []string {
	if content == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(content, "\n"), "\n")
}

// TestFileToFileKilled follows a growing file into a topic and from there into a file while the server is killed ten times,
// each time after new lines have come through: every line arrives, in order once repeats are dropped.
func TestFileToFileKilled(t *testing.T) {
	s := server(t, "file")
	in, out := filepath.Join(s.Dir, "in.txt"), filepath.Join(s.Dir, "out.txt")
	var want []string
	grow := func(n int) {
		var b strings.Builder
		for range n {
			line := fmt.Sprintf("%06d %s", len(want), strings.Repeat("ä", len(want)%40))
			want = append(want, line)
			b.WriteString(line + "\n")
		}
		add(t, in, b.String())
	}
	grow(1000)
	s.Create(t, "in", fileSource(in, "lines"))
	s.Create(t, "out", fileSink(out, "lines"))
	topic := newTap(t, s, "lines")
	const kills = 10
	seen := 0
	for k := range kills {
		testenv.Eventually(t, 30*time.Second, fmt.Sprintf("progress before kill %d", k+1), func() bool {
			n := len(lines(readFile(t, out)))
			ok := n > seen
			if ok {
				seen = n
			}
			return ok
		})
		grow(1500) // under way when the server dies
		if k%2 == 1 {
			n := len(topic.recs)
			topic.until(t, 30*time.Second, "lines in the topic", func(recs []*kgo.Record) bool { return len(recs) > n })
		}
		s.Kill()
		grow(500)
		s.Start(t)
	}
	last := want[len(want)-1]
	testenv.Eventually(t, 60*time.Second, "the last line", func() bool { return strings.HasSuffix(readFile(t, out), last+"\n") })
	known := make(map[string]bool, len(want))
	for _, l := range want {
		known[l] = true
	}
	var got []string
	repeats := 0
	first := map[string]bool{}
	for _, l := range lines(readFile(t, out)) {
		switch {
		case first[l]:
			repeats++
		case known[l]:
			first[l] = true
			got = append(got, l)
		default: // a write that the kill cut in two: the start of a line, written whole later
			t.Logf("a torn line: %q", l)
			if !strings.HasPrefix(last, l) && !anyPrefix(want, l) {
				t.Errorf("a line nobody wrote: %q", l)
			}
		}
	}
	t.Logf("%d lines, %d repeats after %d kills", len(got), repeats, kills)
	if repeats > 2*kills*2000 {
		t.Errorf("%d repeats: positions were not committed as lines went by", repeats)
	}
	if len(got) != len(want) {
		t.Fatalf("%d of %d lines arrived", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("line %d is %q, not %q", i, got[i], want[i])
		}
	}
}

func anyPrefix(all []string, p string) bool {
	for _, l := range all {
		if strings.HasPrefix(l, p) {
			return true
		}
	}
	return false
}

// TestFileLineEnds is a file with CRLF, an empty line, characters at buffers' edges and a last line that is finished after
// a crash.
func TestFileLineEnds(t *testing.T) {
	s := server(t, "file")
	in := filepath.Join(s.Dir, "c076.txt")
	write(t, in, strings.Repeat("é", 5000)+"\r\n"+"b\n"+"\n"+"日本")
	s.Create(t, "c076", fileSource(in, "c076"))
	p := newTap(t, s, "c076")
	p.count(t, 20*time.Second, 3)
	position := func() string {
		a := call(t, s, "GET", "/connectors/c076/offsets", "")
		var o struct {
			Offsets []struct{ Partition, Offset json.RawMessage }
		}
		a.into(t, &o)
		if len(o.Offsets) != 1 {
			return a.body
		}
		return string(o.Offsets[0].Partition) + string(o.Offsets[0].Offset)
	}
	testenv.Eventually(t, 10*time.Second, "position 10005 is committed", func() bool {
		return position() == fmt.Sprintf(`{"filename":%q}{"position":10005}`, in)
	})
	s.Kill()
	add(t, in, "語\n")
	s.Start(t)
	long := strings.Repeat("x", 5<<20)
	p.count(t, 20*time.Second, 4)
	add(t, in, long+"\n")
	add(t, in, "\xff\xfe\nafter\n")
	recs := p.count(t, 30*time.Second, 7)
	want := []string{strings.Repeat("é", 5000), "b", "", "日本語", long}
	for i, w := range want {
		if got := string(recs[i].Value); got != w || recs[i].Value == nil {
			t.Errorf("record %d is %.40q of %d bytes, not %.40q of %d", i, got, len(got), w, len(w))
		}
	}
	if got := string(recs[6].Value); got != "after" {
		t.Errorf("the record behind invalid bytes is %.40q", got)
	}
	fi, err := os.Stat(in)
	if err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, 10*time.Second, "the end of the file is committed", func() bool {
		return strings.Contains(position(), fmt.Sprintf(`{"position":%d}`, fi.Size()))
	})
	if n := len(p.toEnd(t, "c076")); n != 7 {
		t.Errorf("%d records, not 7", n)
	}
}

// TestFileRecreated keeps Kafka Connect's rule: offsets belong to the name and outlive the connector.
func TestFileRecreated(t *testing.T) {
	s := server(t, "file")
	in := filepath.Join(s.Dir, "c047.txt")
	write(t, in, "1\n2\n3\n")
	s.Create(t, "c047", fileSource(in, "c047"))
	p := newTap(t, s, "c047", "c047-other")
	p.count(t, 20*time.Second, 3)
	testenv.Eventually(t, 10*time.Second, "the position is committed", func() bool {
		return strings.Contains(call(t, s, "GET", "/connectors/c047/offsets", "").body, `"position":6`)
	})
	if a := call(t, s, "DELETE", "/connectors/c047", ""); a.code != 204 {
		t.Fatalf("deleting: %d %s", a.code, a.body)
	}
	add(t, in, "4\n5\n")
	s.Create(t, "c047", fileSource(in, "c047"))
	p.count(t, 20*time.Second, 5)
	s.Create(t, "another-name", fileSource(in, "c047-other"))
	recs := p.count(t, 20*time.Second, 10)
	var got []string
	for _, r := range recs {
		got = append(got, r.Topic+":"+string(r.Value))
	}
	want := "c047:1 c047:2 c047:3 c047:4 c047:5 c047-other:1 c047-other:2 c047-other:3 c047-other:4 c047-other:5"
	if strings.Join(got, " ") != want {
		t.Errorf("got %v", got)
	}
}
