package broker

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/penstockio/penstock/broker/disk"
)

func TestProduceAndConsumeEveryCodec(t *testing.T) {
	b := start(t, t.TempDir(), nil)
	codecs := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
	for name, codec := range codecs {
		for _, memory := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/memory=%v", name, memory), func(t *testing.T) {
				topic := fmt.Sprintf("codec-%s-%v", name, memory)
				opts := []kgo.Opt{kgo.ProducerBatchCompression(codec), kgo.DefaultProduceTopic(topic)}
				var read []kgo.Opt
				if memory {
					opts, read = append(opts, inside(b)), append(read, inside(b))
				}
				cl := client(t, b, opts...)
				const n = 500
				for i := range n {
					v := bytes.Repeat([]byte{byte(i)}, i)
					cl.Produce(t.Context(), &kgo.Record{Key: fmt.Appendf(nil, "k%d", i), Value: v}, func(_ *kgo.Record, err error) {
						if err != nil {
							t.Error(err)
						}
					})
				}
				if err := cl.Flush(within(t, time.Minute)); err != nil {
					t.Fatal(err)
				}
				for i, r := range consume(t, b, topic, n, read...) {
					if r.Offset != int64(i) || string(r.Key) != fmt.Sprintf("k%d", i) || len(r.Value) != i {
						t.Fatalf("record %d: offset %d, key %q, %d bytes", i, r.Offset, r.Key, len(r.Value))
					}
				}
			})
		}
	}
}

func TestPortInUseIsNamed(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	port := ln.Addr().(*net.TCPAddr).Port
	_, err = Open(Config{DataDir: t.TempDir(), Listeners: []Listener{{Name: "PLAINTEXT", Host: "127.0.0.1", Port: port}}}, quiet(), nil)
	if err == nil || !strings.Contains(err.Error(), ln.Addr().String()) || !strings.Contains(err.Error(), "broker.listeners") {
		t.Fatalf("want an error that names the address and the setting, got %v", err)
	}
}

func TestDataDirectoryInUseIsNamed(t *testing.T) {
	dir := t.TempDir()
	start(t, dir, nil)
	_, err := Open(Config{DataDir: dir, Settings: small}, quiet(), nil)
	if !errors.Is(err, disk.ErrLocked) || !strings.Contains(err.Error(), dir) {
		t.Fatalf("want ErrLocked that names %s, got %v", dir, err)
	}
}

func TestOpenedButNeverStarted(t *testing.T) {
	dir := t.TempDir()
	for range 2 { // the second time the directory must be free again
		b, err := Open(Config{DataDir: dir, Settings: small}, quiet(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if !errors.Is(b.Health(), ErrNotRunning) {
			t.Errorf("its health: %v", b.Health())
		}
		stop(t, b)
		stop(t, b)
	}
}
