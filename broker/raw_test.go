package broker

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// raw is a connection that speaks frames.
type raw struct {
	t    testing.TB
	nc   net.Conn
	corr int32

	patience time.Duration // with each request; 0: ten seconds
}

func dialRaw(t testing.TB, b *Broker) *raw {
	t.Helper()
	nc, err := net.Dial("tcp", b.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	return &raw{t: t, nc: nc}
}

// frame encodes a request with its size.
func (r *raw) frame(req kmsg.Request) []byte {
	r.corr++
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID("raw")).AppendRequest(nil, req, r.corr)
}

func (r *raw) write(b []byte) error {
	_ = r.nc.SetDeadline(time.Now().Add(cmp.Or(r.patience, 30*time.Second)))
	_, err := r.nc.Write(b)
	return err
}

// read gives a frame without its size.
func (r *raw) read() ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r.nc, size[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err := io.ReadFull(r.nc, b)
	return b, err
}

// ask sends a request and decodes its answer.
func (r *raw) ask(req kmsg.Request) (kmsg.Response, error) {
	if err := r.write(r.frame(req)); err != nil {
		return nil, err
	}
	return r.answer(req, r.corr)
}

func (r *raw) answer(req kmsg.Request, corr int32) (kmsg.Response, error) {
	b, err := r.read()
	if err != nil {
		return nil, err
	}
	if len(b) < 4 || int32(binary.BigEndian.Uint32(b)) != corr {
		return nil, fmt.Errorf("the answer is not to request %d: % x", corr, b[:min(len(b), 8)])
	}
	b = b[4:]
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	if resp.IsFlexible() && resp.Key() != 18 {
		b = b[1:]
	}
	return resp, resp.ReadFrom(b)
}

// advertised asks a broker what it serves.
func advertised(t testing.TB, b *Broker) []kmsg.ApiVersionsResponseApiKey {
	t.Helper()
	req := kmsg.NewPtrApiVersionsRequest()
	resp, err := dialRaw(t, b).ask(req)
	if err != nil {
		t.Fatal(err)
	}
	keys := resp.(*kmsg.ApiVersionsResponse).ApiKeys
	if len(keys) < 25 {
		t.Fatalf("only %d keys", len(keys))
	}
	return keys
}

// empty makes a request of a key and version that asks for nothing, and waits for nothing.
func empty(key, version int16) kmsg.Request {
	req := kmsg.RequestForKey(key)
	req.SetVersion(version)
	switch r := req.(type) {
	case *kmsg.ProduceRequest:
		r.Acks = 1
	case *kmsg.FetchRequest:
		r.ReplicaID, r.ReplicaState.ID, r.SessionEpoch = -1, -1, -1
	case *kmsg.ApiVersionsRequest:
		r.ClientSoftwareName, r.ClientSoftwareVersion, r.NodeID = "raw", "1", -1
	case *kmsg.ListOffsetsRequest:
		r.ReplicaID = -1
	}
	return req
}

func TestEveryAdvertisedVersionAnswersAnEmptyRequest(t *testing.T) {
	b := start(t, t.TempDir(), nil)
	for _, k := range advertised(t, b) {
		for v := k.MinVersion; v <= k.MaxVersion; v++ {
			r := dialRaw(t, b)
			resp, err := r.ask(empty(k.ApiKey, v))
			if err != nil {
				t.Errorf("%s version %d: %v", kmsg.NameForKey(k.ApiKey), v, err)
				continue
			}
			if resp.Key() != k.ApiKey {
				t.Errorf("%s version %d answered %d", kmsg.NameForKey(k.ApiKey), v, resp.Key())
			}
		}
	}
}

// TestTruncatedBodiesEndTheConnection cuts requests with content at every byte: the connection answers or ends, and the
// broker lives on.
func TestTruncatedBodiesEndTheConnection(t *testing.T) {
	b := start(t, t.TempDir(), nil)
	produceN(t, b, "cut", 0, 3)
	for _, k := range advertised(t, b) {
		for _, v := range []int16{k.MinVersion, k.MaxVersion} {
			whole := (&raw{}).frame(filled(k.ApiKey, v, b))
			for n := 4; n < len(whole); n++ {
				cut := append([]byte{}, whole[:n]...)
				binary.BigEndian.PutUint32(cut, uint32(n-4))
				r := dialRaw(t, b)
				if err := r.write(cut); err != nil {
					continue
				}
				_ = r.nc.(*net.TCPConn).CloseWrite()
				for {
					_, err := r.read()
					if err == nil {
						continue
					}
					if ne, ok := err.(net.Error); ok && ne.Timeout() {
						t.Errorf("%s version %d cut at %d of %d bytes hangs", kmsg.NameForKey(k.ApiKey), v, n, len(whole))
					}
					break
				}
				r.nc.Close()
			}
		}
	}
	if got := consume(t, b, "cut", 3); len(got) != 3 {
		t.Fatal("the broker lost records")
	}
}

// filled makes a request with content for the keys whose bodies nest deepest.
func filled(key, version int16, b *Broker) kmsg.Request {
	req := empty(key, version)
	id := b.topics.Get("cut").ID
	switch r := req.(type) {
	case *kmsg.ProduceRequest:
		p := kmsg.NewProduceRequestTopicPartition()
		p.Records = []byte{1, 2, 3}
		t := kmsg.NewProduceRequestTopic()
		t.Topic, t.TopicID, t.Partitions = "cut", id, append(t.Partitions, p)
		r.Topics = append(r.Topics, t)
	case *kmsg.FetchRequest:
		p := kmsg.NewFetchRequestTopicPartition()
		p.PartitionMaxBytes = 1000
		t := kmsg.NewFetchRequestTopic()
		t.Topic, t.TopicID, t.Partitions = "cut", id, append(t.Partitions, p)
		r.Topics = append(r.Topics, t)
	case *kmsg.MetadataRequest:
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr("cut")
		r.Topics = append(r.Topics, t)
	case *kmsg.JoinGroupRequest:
		r.Group, r.ProtocolType, r.SessionTimeoutMillis = "cutgroup", "consumer", 6000
		p := kmsg.NewJoinGroupRequestProtocol()
		p.Name, p.Metadata = "range", []byte{1, 2}
		r.Protocols = append(r.Protocols, p)
	case *kmsg.OffsetCommitRequest:
		r.Group, r.Generation = "cutcommit", -1
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Metadata = kmsg.StringPtr("meta")
		t := kmsg.NewOffsetCommitRequestTopic()
		t.Topic, t.TopicID, t.Partitions = "cut", id, append(t.Partitions, p)
		r.Topics = append(r.Topics, t)
	case *kmsg.InitProducerIDRequest:
		r.TransactionalID, r.TransactionTimeoutMillis, r.ProducerID, r.ProducerEpoch = kmsg.StringPtr("cuttxn"), 60_000, -1, -1
	case *kmsg.AddPartitionsToTxnRequest:
		t := kmsg.NewAddPartitionsToTxnRequestTopic()
		t.Topic, t.Partitions = "cut", []int32{0}
		r.TransactionalID, r.Topics = "cuttxn", append(r.Topics, t)
	case *kmsg.AddOffsetsToTxnRequest:
		r.TransactionalID, r.Group = "cuttxn", "cutgroup"
	case *kmsg.EndTxnRequest:
		r.TransactionalID, r.Commit = "cuttxn", true
	case *kmsg.WriteTxnMarkersRequest:
		t := kmsg.NewWriteTxnMarkersRequestMarkerTopic()
		t.Topic, t.Partitions = "cut", []int32{0, 7}
		m := kmsg.NewWriteTxnMarkersRequestMarker()
		m.ProducerID, m.Topics = -1, append(m.Topics, t) // of nobody: nothing is written
		r.Markers = append(r.Markers, m)
	case *kmsg.TxnOffsetCommitRequest:
		p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
		p.Metadata = kmsg.StringPtr("meta")
		t := kmsg.NewTxnOffsetCommitRequestTopic()
		t.Topic, t.Partitions = "cut", append(t.Partitions, p)
		r.TransactionalID, r.Group, r.Generation, r.Topics = "cuttxn", "cutgroup", -1, append(r.Topics, t)
	case *kmsg.DescribeProducersRequest:
		t := kmsg.NewDescribeProducersRequestTopic()
		t.Topic, t.Partitions = "cut", []int32{0, 7}
		r.Topics = append(r.Topics, t)
	case *kmsg.DescribeTransactionsRequest:
		r.TransactionalIDs = []string{"cuttxn", "nobody"}
	case *kmsg.ListTransactionsRequest:
		r.StateFilters, r.ProducerIDFilters, r.DurationFilterMillis = []string{"Ongoing", "Sleeping"}, []int64{1}, -1
		r.TransactionalIDPattern = kmsg.StringPtr("cut.*")
	case *kmsg.CreateTopicsRequest:
		r.ValidateOnly = true
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = "cleanup.policy", kmsg.StringPtr("compact")
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor, t.Configs = "fresh", 1, 1, append(t.Configs, c)
		r.Topics = append(r.Topics, t)
	case *kmsg.IncrementalAlterConfigsRequest:
		c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		c.Name, c.Value = "retention.ms", kmsg.StringPtr("1")
		t := kmsg.NewIncrementalAlterConfigsRequestResource()
		t.ResourceType, t.ResourceName, t.Configs = 2, "cut", append(t.Configs, c)
		r.Resources, r.ValidateOnly = append(r.Resources, t), true
	}
	return req
}

func TestUnknownVersionOfApiVersionsIsAnsweredInVersionZero(t *testing.T) {
	b := start(t, t.TempDir(), nil)
	r := dialRaw(t, b)
	frame := []byte{0, 0, 0, 0, 0, 18, 0, 99, 0, 0, 0, 7, 0xff, 0xff, 0}
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	if err := r.write(frame); err != nil {
		t.Fatal(err)
	}
	resp, err := r.answer(kmsg.NewPtrApiVersionsRequest(), 7)
	if err != nil {
		t.Fatal(err)
	}
	if v := resp.(*kmsg.ApiVersionsResponse); v.ErrorCode != 35 || len(v.ApiKeys) < 25 {
		t.Fatalf("error %d with %d keys", v.ErrorCode, len(v.ApiKeys))
	}
	if _, err := r.ask(empty(18, 4)); err != nil { // the connection goes on
		t.Fatal(err)
	}
}

func TestNonsenseEndsTheConnection(t *testing.T) {
	b := start(t, t.TempDir(), nil)
	for name, frame := range map[string][]byte{
		"http":           []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
		"huge size":      {0x7f, 0xff, 0xff, 0xff, 0, 1},
		"negative size":  {0xff, 0xff, 0xff, 0xff, 0, 1},
		"unknown key":    {0, 0, 0, 10, 0x7f, 0, 0, 0, 0, 0, 0, 1, 0xff, 0xff},
		"old version":    {0, 0, 0, 10, 0, 1, 0, 0, 0, 0, 0, 1, 0xff, 0xff},
		"cut header":     {0, 0, 0, 9, 0, 3, 0, 1, 0, 0, 0, 1, 0},
		"long client id": {0, 0, 0, 10, 0, 3, 0, 1, 0, 0, 0, 1, 0x7f, 0xff},
	} {
		t.Run(name, func(t *testing.T) {
			r := dialRaw(t, b)
			if err := r.write(frame); err != nil {
				t.Fatal(err)
			}
			if _, err := r.read(); err == nil {
				t.Fatal("it was answered")
			} else if ne, ok := err.(net.Error); ok && ne.Timeout() {
				t.Fatal("the connection stays open")
			}
		})
	}
}
