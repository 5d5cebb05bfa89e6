// Command sarama produces and consumes with Sarama, which drags too much in to stand in Penstock's own module.
//
// Arguments: bootstrap servers, number of records a topic, topics to produce to (name:codec:acks, comma separated), topics to
// consume (comma separated). For each topic consumed it prints name, number of records and the SHA-256 over length and bytes
// of keys and values. Then it uses what an administrator uses, and prints "admin ok".
package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash"
	"log"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/IBM/sarama"
)

func key(i int) sarama.Encoder {
	if i%5 == 4 {
		return nil
	}
	return sarama.ByteEncoder(fmt.Appendf(nil, "k%d", i))
}

func value(i int) sarama.Encoder {
	if i%11 == 10 {
		return nil
	}
	b := make([]byte, i*37%3000)
	for j := range b {
		b[j] = byte(i*31 + j/3)
	}
	return sarama.ByteEncoder(b)
}

func add(h hash.Hash, b []byte) {
	if b == nil {
		fmt.Fprint(h, "-1;")
		return
	}
	fmt.Fprintf(h, "%d;", len(b))
	h.Write(b)
}

var codecs = map[string]sarama.CompressionCodec{
	"none": sarama.CompressionNone, "gzip": sarama.CompressionGZIP, "snappy": sarama.CompressionSnappy, "lz4": sarama.CompressionLZ4, "zstd": sarama.CompressionZSTD,
}

func config() *sarama.Config {
	c := sarama.NewConfig()
	c.Version = sarama.MaxVersion
	c.Consumer.Offsets.Initial = sarama.OffsetOldest
	c.Consumer.Offsets.AutoCommit.Interval = 50 * time.Millisecond
	return c
}

func produce(servers []string, topic, codec, acks string, n int) error {
	c := config()
	c.Producer.Compression = codecs[codec]
	c.Producer.RequiredAcks = sarama.WaitForAll
	if acks == "0" {
		c.Producer.RequiredAcks = sarama.NoResponse
	} else {
		c.Producer.Idempotent, c.Net.MaxOpenRequests = true, 1
	}
	c.Producer.Return.Successes, c.Producer.Partitioner = true, sarama.NewManualPartitioner
	c.Producer.Flush.Frequency = 20 * time.Millisecond
	p, err := sarama.NewSyncProducer(servers, c)
	if err != nil {
		return err
	}
	var all []*sarama.ProducerMessage
	for i := range n {
		all = append(all, &sarama.ProducerMessage{Topic: topic, Key: key(i), Value: value(i)})
	}
	if err := p.SendMessages(all); err != nil {
		return err
	}
	return p.Close()
}

// reader is a group member that reads n records.
type reader struct {
	n    int
	got  int
	sum  hash.Hash
	stop context.CancelFunc
}

func (r *reader) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (r *reader) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (r *reader) ConsumeClaim(s sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for m := range claim.Messages() {
		add(r.sum, m.Key)
		add(r.sum, m.Value)
		s.MarkMessage(m, "")
		if r.got++; r.got == r.n {
			s.Commit()
			r.stop()
			return nil
		}
	}
	return nil
}

func consume(servers []string, topic string, n int) error {
	g, err := sarama.NewConsumerGroup(servers, "sarama-"+topic, config())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	r := &reader{n: n, sum: sha256.New(), stop: cancel}
	for ctx.Err() == nil {
		if err := g.Consume(ctx, []string{topic}, r); err != nil && ctx.Err() == nil {
			return err
		}
	}
	fmt.Printf("read %s %d %x\n", topic, r.got, r.sum.Sum(nil))
	return g.Close()
}

func admin(servers []string, group, topic string, n int) error {
	a, err := sarama.NewClusterAdmin(servers, config())
	if err != nil {
		return err
	}
	defer a.Close()
	ms := "60000"
	if err := a.CreateTopic("sarama-admin", &sarama.TopicDetail{NumPartitions: 2, ReplicationFactor: 1, ConfigEntries: map[string]*string{"retention.ms": &ms}}, false); err != nil {
		return err
	}
	if err := a.CreatePartitions("sarama-admin", 3, nil, false); err != nil {
		return err
	}
	about, err := a.DescribeTopics([]string{"sarama-admin"})
	if err != nil || len(about[0].Partitions) != 3 {
		return fmt.Errorf("describing: %v, %w", about, err)
	}
	more := "70000"
	if err := a.IncrementalAlterConfig(sarama.TopicResource, "sarama-admin", map[string]sarama.IncrementalAlterConfigsEntry{"retention.ms": {Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &more}}, false); err != nil {
		return err
	}
	set, err := a.DescribeConfig(sarama.ConfigResource{Type: sarama.TopicResource, Name: "sarama-admin", ConfigNames: []string{"retention.ms"}})
	if err != nil || len(set) != 1 || set[0].Value != more {
		return fmt.Errorf("settings %v, %w", set, err)
	}
	groups, err := a.ListConsumerGroups()
	if err != nil || groups[group] != "consumer" {
		return fmt.Errorf("groups %v, %w", groups, err)
	}
	d, err := a.DescribeConsumerGroups([]string{group})
	if err != nil || d[0].State != "Empty" {
		return fmt.Errorf("group %v, %w", d, err)
	}
	at, err := a.ListConsumerGroupOffsets(group, map[string][]int32{topic: {0}})
	if err != nil || at.GetBlock(topic, 0).Offset != int64(n) {
		return fmt.Errorf("offsets %v, %w", at, err)
	}
	dirs, err := a.DescribeLogDirs([]int32{1})
	if err != nil || len(dirs[1]) != 1 {
		return fmt.Errorf("log dirs %v, %w", dirs, err)
	}
	if err := a.DeleteRecords(topic, map[int32]int64{0: 1}); err != nil {
		return err
	}
	if err := a.DeleteConsumerGroup(group); err != nil {
		return err
	}
	return a.DeleteTopic("sarama-admin")
}

func main() {
	servers := strings.Split(os.Args[1], ",")
	n, err := strconv.Atoi(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	for _, t := range strings.Split(os.Args[3], ",") {
		p := strings.Split(t, ":")
		if err := produce(servers, p[0], p[1], p[2], n); err != nil {
			log.Fatalf("producing to %s: %v", t, err)
		}
	}
	topics := strings.Split(os.Args[4], ",")
	for _, t := range topics {
		if err := consume(servers, t, n); err != nil {
			log.Fatalf("consuming %s: %v", t, err)
		}
	}
	if err := admin(servers, "sarama-"+topics[0], topics[0], n); err != nil {
		log.Fatalf("administering: %v", err)
	}
	fmt.Println("admin ok")
}
