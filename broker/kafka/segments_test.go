package kafka

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestFetchIsEncodedAsKmsgDoes compares our encoding of Fetch with kmsg's, byte by byte, for every version.
func TestFetchIsEncodedAsKmsgDoes(t *testing.T) {
	k := lookup(1)
	for v := k.min; v <= k.max; v++ {
		resp := kmsg.NewPtrFetchResponse()
		resp.Version, resp.ThrottleMillis, resp.ErrorCode, resp.SessionID = v, 3, 4, 5
		for i, n := range []int{0, 10, spliceFrom, 3*writeChunk + 1, 100} {
			p := emptyPartition(int32(i))
			p.HighWatermark, p.LastStableOffset, p.LogStartOffset = 100, 99, 1
			p.RecordBatches = bytes.Repeat([]byte{byte(i + 1)}, n)
			a := kmsg.NewFetchResponseTopicPartitionAbortedTransaction()
			a.ProducerID, a.FirstOffset = 7, 8
			p.AbortedTransactions = append(p.AbortedTransactions, a)
			tp := kmsg.NewFetchResponseTopic()
			tp.Topic, tp.TopicID, tp.Partitions = "topic", [16]byte{1, 2}, append(tp.Partitions, p, emptyPartition(9))
			resp.Topics = append(resp.Topics, tp)
		}
		want := appendResponse(nil, 42, resp)
		g := encode(nil, 42, resp, nil)
		if len(g.pieces) != 2 {
			t.Fatalf("%d pieces were spliced", len(g.pieces))
		}
		near, far := net.Pipe()
		got := make(chan []byte, 1)
		go func() {
			b, _ := io.ReadAll(far)
			got <- b
		}()
		if err := g.send(near, time.Minute); err != nil {
			t.Fatal(err)
		}
		near.Close()
		if !bytes.Equal(<-got, want) {
			t.Fatalf("version %d differs", v)
		}
		far.Close()
	}
}
