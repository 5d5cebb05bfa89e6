package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/penstockio/penstock/internal/testenv"
)

const clientRecords = 300

// clientKey and clientValue are those of testdata/java/Clients.java: nulls, empty ones and every byte among them.
func clientKey(i int) []byte {
	if i%5 == 4 {
		return nil
	}
	return fmt.Appendf(nil, "k%d", i)
}

func clientValue(i int) []byte {
	if i%11 == 10 {
		return nil
	}
	b := make([]byte, i*37%3000)
	for j := range b {
		b[j] = byte(i*31 + j/3)
	}
	return b
}

// digest is over length and bytes of keys and values.
type digest struct{ buf bytes.Buffer }

func (d *digest) add(b []byte) {
	if b == nil {
		d.buf.WriteString("-1;")
		return
	}
	fmt.Fprintf(&d.buf, "%d;", len(b))
	d.buf.Write(b)
}

func (d *digest) sum() string {
	s := sha256.Sum256(d.buf.Bytes())
	return hex.EncodeToString(s[:])
}

// TestClients has Apache Kafka's Java clients, librdkafka (kcat) and franz-go write with every codec, with acks=all and
// acks=0, and each read back, byte for byte, what the others wrote.
func TestClients(t *testing.T) {
	t.Parallel()
	s := server(t)
	var javaMakes, javaReads []string
	want := map[string]string{} // topic to digest
	var all digest
	for i := range clientRecords {
		all.add(clientKey(i))
		all.add(clientValue(i))
	}
	var text digest
	var in strings.Builder
	for i := range clientRecords {
		k, v := fmt.Sprintf("key%d", i), strings.Repeat(fmt.Sprintf("värde %d ", i), 1+i%20)
		text.add([]byte(k))
		text.add([]byte(v))
		in.WriteString(k + "\t" + v + "\n")
	}
	codecs := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
	for codec, own := range codecs {
		for _, acks := range []string{"all", "0"} {
			suffix := "-" + codec + "-" + acks
			javaMakes = append(javaMakes, "java"+suffix+":"+codec+":"+acks)
			want["java"+suffix], want["franz"+suffix], want["kcat"+suffix] = all.sum(), all.sum(), text.sum()
			javaReads = append(javaReads, "franz"+suffix, "kcat"+suffix)

			testenv.Kcat(t, []byte(in.String()), "-P", "-b", s.Broker, "-t", "kcat"+suffix, "-K", "\t", "-z", codec, "-X", "topic.acks="+strings.Replace(acks, "all", "-1", 1))
			opts := []kgo.Opt{kgo.AllowAutoTopicCreation(), kgo.ProducerBatchCompression(own), kgo.RecordPartitioner(kgo.ManualPartitioner())}
			if acks == "0" {
				opts = append(opts, kgo.RequiredAcks(kgo.NoAck()), kgo.DisableIdempotentWrite())
			}
			cl := client(t, s, opts...)
			var recs []*kgo.Record
			for i := range clientRecords {
				recs = append(recs, &kgo.Record{Topic: "franz" + suffix, Key: clientKey(i), Value: clientValue(i)})
			}
			if err := cl.ProduceSync(context.Background(), recs...).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	cmd := testenv.KafkaTool(ctx, t, filepath.Join(testenv.Root(), "internal/e2e/testdata/java/Clients.java"), s.Broker, fmt.Sprint(clientRecords),
		strings.Join(javaMakes, ","), strings.Join(javaReads, ","))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("running the Java clients: %v\n%s", err, stderr.String())
	}
	said := string(out)
	if !strings.Contains(said, "partitions 3\n") {
		t.Errorf("the topic made by Java's admin: %s", said)
	}
	for _, topic := range javaReads {
		if line := fmt.Sprintf("read %s %d %s\n", topic, clientRecords, want[topic]); !strings.Contains(said, line) {
			t.Errorf("Java did not read %s whole", topic)
		}
	}
	for topic, sum := range want {
		recs := newTap(t, s, topic).count(t, 20*time.Second, clientRecords)
		var d digest
		for _, r := range recs {
			d.add(r.Key)
			d.add(r.Value)
		}
		if d.sum() != sum || len(recs) != clientRecords {
			t.Errorf("franz-go did not read %s whole: %d records", topic, len(recs))
		}
		if got, n := kcatDigest(t, s, topic); got != sum || n != clientRecords {
			t.Errorf("kcat did not read %s whole: %d records", topic, n)
		}
	}
}

// kcatDigest reads a topic with kcat; lengths stand before the bytes, as they hold anything.
func kcatDigest(t *testing.T, s *testenv.Penstock, topic string) (string, int) {
	t.Helper()
	out := testenv.Kcat(t, nil, "-C", "-b", s.Broker, "-t", topic, "-e", "-q", "-f", "%K,%S;%k%s")
	var d digest
	n := 0
	for len(out) > 0 {
		var k, v int
		head, rest, ok := bytes.Cut(out, []byte(";"))
		if _, err := fmt.Sscanf(string(head), "%d,%d", &k, &v); err != nil || !ok {
			t.Fatalf("kcat's output is broken at %q", out[:min(len(out), 40)])
		}
		out = rest
		for _, l := range []int{k, v} {
			if l < 0 {
				d.add(nil)
				continue
			}
			d.add(out[:l])
			out = out[l:]
		}
		n++
	}
	return d.sum(), n
}
