package broker

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// kcat runs librdkafka's command line against a broker.
func kcat(t testing.TB, b *Broker, in string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath("kcat")
	if err != nil {
		t.Fatal("kcat is missing: run make deps")
	}
	cmd := exec.CommandContext(t.Context(), path, append([]string{"-b", b.Addr()}, args...)...)
	cmd.Stdin = strings.NewReader(in)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("kcat %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String()
}

// TestKcatProducesAndConsumes crosses kcat's codecs and acks, and checks that the codec is kept on disk.
func TestKcatProducesAndConsumes(t *testing.T) {
	b := start(t, t.TempDir(), nil)
	var in strings.Builder
	for i := range 200 {
		fmt.Fprintf(&in, "k%d:%s\n", i, strings.Repeat("penstock ", i%20+1))
	}
	attrs := map[string]uint8{"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
	for codec, bits := range attrs {
		for _, acks := range []string{"0", "1", "all"} {
			t.Run(codec+"/acks="+acks, func(t *testing.T) {
				topic := "kcat-" + codec + "-" + acks
				kcat(t, b, in.String(), "-P", "-t", topic, "-K:", "-z", codec, "-X", "acks="+acks, "-X", "linger.ms=100")
				if acks == "0" { // kcat may be gone before the broker has read everything
					waitFor(t, "all records to be there", func() bool {
						q, ok := b.topics.Get(topic).Queue(0)
						h, err := b.store.Head(q)
						return ok && err == nil && h.HighWatermark == 200
					})
				}
				if got := kcat(t, b, "", "-C", "-t", topic, "-e", "-q", "-K:"); got != in.String() {
					t.Errorf("read back %d bytes, want %d", len(got), in.Len())
				}
				kept := 0
				for _, r := range consume(t, b, topic, 200) {
					switch r.Attrs.CompressionType() {
					case bits:
						kept++
					case 0: // librdkafka leaves alone what would not shrink, as a batch of one small record
					default:
						t.Fatalf("offset %d is stored with codec %d, want %d", r.Offset, r.Attrs.CompressionType(), bits)
					}
				}
				if kept < 100 {
					t.Errorf("only %d of 200 records are stored with codec %d: was compression turned off?", kept, bits)
				}
			})
		}
	}
}

// TestKcatReadsInAGroup: librdkafka's group consumer reads all, commits, and a second run of the group has nothing left.
func TestKcatReadsInAGroup(t *testing.T) {
	b := start(t, t.TempDir(), nil)
	kcat(t, b, "1\n2\n3\n", "-P", "-t", "grouped")
	args := []string{"-G", "kcatgroup", "-q", "-X", "auto.offset.reset=earliest", "-X", "auto.commit.interval.ms=50"}
	if got := kcat(t, b, "", append(args, "-c", "3", "grouped")...); got != "1\n2\n3\n" {
		t.Fatalf("read %q", got)
	}
	if o, ok := b.groups.Fetch("kcatgroup", b.topics.Get("grouped").ID, 0); !ok || o.Offset != 3 {
		t.Fatalf("committed %+v", o)
	}
	kcat(t, b, "4\n", "-P", "-t", "grouped")
	if got := kcat(t, b, "", append(args, "-c", "1", "grouped")...); got != "4\n" {
		t.Fatalf("then read %q", got)
	}
}

// TestNullAndEmptyStayApart: null and empty keys, values and header values are kept apart, also over a restart.
func TestNullAndEmptyStayApart(t *testing.T) {
	dir := t.TempDir()
	b := start(t, dir, nil)
	kcat(t, b, "k1:\n", "-P", "-t", "c064", "-K:", "-Z")
	kcat(t, b, "k2:\n", "-P", "-t", "c064", "-K:")
	kcat(t, b, ":v3\n", "-P", "-t", "c064", "-K:")
	kcat(t, b, "v4\n", "-P", "-t", "c064", "-H", "a=", "-H", "b")
	for _, restarted := range []bool{false, true} {
		if restarted {
			stop(t, b)
			b = start(t, dir, nil)
		}
		want := "0 2 -1\n1 2 0\n2 0 2\n3 -1 2\n"
		if got := kcat(t, b, "", "-C", "-t", "c064", "-e", "-q", "-f", "%o %K %S\n"); got != want {
			t.Errorf("restarted=%v: got\n%swant\n%s", restarted, got, want)
		}
		h := consume(t, b, "c064", 4)[3].Headers
		if len(h) != 2 || h[0].Key != "a" || h[0].Value == nil || len(h[0].Value) != 0 || h[1].Key != "b" || h[1].Value != nil {
			t.Errorf("restarted=%v: headers %+v", restarted, h)
		}
	}
}

// TestOffsetsByTime: the first record at or after a time, exact to the record, with kcat and always the same.
func TestOffsetsByTime(t *testing.T) {
	b := start(t, t.TempDir(), nil)
	for _, codec := range []kgo.CompressionCodec{kgo.NoCompression(), kgo.ZstdCompression()} {
		topic := fmt.Sprintf("c065-%v", codec)
		topic = strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r == '-' {
				return r
			}
			return -1
		}, topic)
		cl := client(t, b, kgo.ProducerBatchCompression(codec), kgo.DefaultProduceTopic(topic))
		var rs []*kgo.Record
		for _, ms := range []int64{1000, 2000, 2000} {
			rs = append(rs, &kgo.Record{Value: []byte("v"), Timestamp: time.UnixMilli(ms)})
		}
		if err := cl.ProduceSync(t.Context(), rs...).FirstErr(); err != nil {
			t.Fatal(err)
		}
		for at, want := range map[string]string{"1500": "1", "2000": "1", "2001": "-1", "-1": "3", "-2": "0", "0": "0"} {
			got := kcat(t, b, "", "-Q", "-t", topic+":0:"+at)
			if !strings.HasSuffix(strings.TrimSpace(got), "offset "+want) && !(want == "-1" && strings.HasSuffix(strings.TrimSpace(got), "offset 3")) {
				t.Errorf("%s at %s: %q, want offset %s", topic, at, got, want)
			}
		}
	}
}
