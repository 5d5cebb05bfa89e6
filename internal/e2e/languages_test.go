package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/penstockio/penstock/internal/testenv"
)

var clientCodecs = []string{"none", "gzip", "snappy", "lz4", "zstd"}

// TestOtherLanguagesClients has a current librdkafka (confluent-kafka), kafka-python and Sarama write with every codec, with
// acks=all and acks=0, read in groups what franz-go wrote, look up and commit offsets, and administer topics, settings, groups
// and records. franz-go then reads what they wrote, byte for byte.
func TestOtherLanguagesClients(t *testing.T) {
	t.Parallel()
	s := server(t)
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	own := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
	var whole, some digest // some: kafka-python has no records with neither key nor value
	var recs []*kgo.Record
	for i := range clientRecords {
		k, v := clientKey(i), clientValue(i)
		recs = append(recs, &kgo.Record{Key: k, Value: v})
		whole.add(k)
		whole.add(v)
		if k == nil && v == nil {
			v = []byte{}
		}
		some.add(k)
		some.add(v)
	}
	programs := map[string]func(args ...string) *exec.Cmd{
		"confluent":    python(ctx, t, "confluent"),
		"kafka-python": python(ctx, t, "kafka-python"),
		"sarama":       saramaProgram(ctx, t),
	}
	type run struct {
		name string
		out  []byte
		err  error
	}
	ended := make(chan run)
	for name, program := range programs {
		var makes, reads []string
		for _, codec := range clientCodecs {
			for _, acks := range []string{"all", "0"} {
				makes = append(makes, name+"-"+codec+"-"+acks+":"+codec+":"+acks)
			}
			// A topic of its own for each reader: they also delete its first record.
			topic := "for-" + name + "-" + codec
			reads = append(reads, topic)
			var copies []*kgo.Record
			for _, r := range recs {
				copies = append(copies, &kgo.Record{Topic: topic, Key: r.Key, Value: r.Value})
			}
			cl := client(t, s, kgo.AllowAutoTopicCreation(), kgo.ProducerBatchCompression(own[codec]), kgo.RecordPartitioner(kgo.ManualPartitioner()))
			if err := cl.ProduceSync(ctx, copies...).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		cmd := program(s.Broker, fmt.Sprint(clientRecords), strings.Join(makes, ","), strings.Join(reads, ","))
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		go func() {
			out, err := cmd.Output()
			if err != nil {
				err = fmt.Errorf("%w: %s", err, stderr.String())
			}
			ended <- run{name, out, err}
		}()
	}
	for range programs {
		r := <-ended
		if r.err != nil || !strings.HasSuffix(string(r.out), "admin ok\n") {
			t.Errorf("%s: %v\n%s", r.name, r.err, r.out)
		}
		for _, codec := range clientCodecs {
			if line := fmt.Sprintf("read for-%s-%s %d %s\n", r.name, codec, clientRecords, whole.sum()); !strings.Contains(string(r.out), line) {
				t.Errorf("%s did not read franz-go's %s records whole:\n%s", r.name, codec, r.out)
			}
		}
	}
	for name := range programs {
		want := whole.sum()
		if name == "kafka-python" {
			want = some.sum()
		}
		for _, codec := range clientCodecs {
			for _, acks := range []string{"all", "0"} {
				topic := name + "-" + codec + "-" + acks
				var d digest
				for _, r := range newTap(t, s, topic).count(t, 20*time.Second, clientRecords) {
					d.add(r.Key)
					d.add(r.Value)
				}
				if d.sum() != want {
					t.Errorf("franz-go did not read %s whole", topic)
				}
			}
		}
	}
}

// python gives a program of testdata/python/clients.py for one client.
func python(ctx context.Context, t *testing.T, which string) func(...string) *exec.Cmd {
	t.Helper()
	py, err := testenv.Python("confluent_kafka", "kafka", "snappy", "lz4", "zstandard")
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(testenv.Root(), "internal/e2e/testdata/python/clients.py")
	return func(args ...string) *exec.Cmd {
		return exec.CommandContext(ctx, py, append([]string{script, which}, args...)...)
	}
}

// saramaProgram builds testdata/sarama, a module of its own.
func saramaProgram(ctx context.Context, t *testing.T) func(...string) *exec.Cmd {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "sarama")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", bin, ".")
	cmd.Dir = filepath.Join(testenv.Root(), "internal/e2e/testdata/sarama")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building the Sarama program: %v\n%s", err, out)
	}
	return func(args ...string) *exec.Cmd { return exec.CommandContext(ctx, bin, args...) }
}
