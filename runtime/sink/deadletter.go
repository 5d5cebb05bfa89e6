package sink

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	connectapi "github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/runtime/kafka"
	"github.com/penstockio/penstock/runtime/policy"
)

// DeadLetter writes records that failed to a topic of their own, bytes unchanged (KIP-298).
type DeadLetter struct {
	topic    string
	context  bool // add headers that say what failed
	clients  *kafka.Clients
	producer *kgo.Client
}

// NewDeadLetter opens the queue, creating its topic with one partition; nil without an error when none is configured.
func NewDeadLetter(ctx context.Context, cfg map[string]string, clients *kafka.Clients) (*DeadLetter, error) {
	topic := cfg["errors.deadletterqueue.topic.name"]
	if topic == "" {
		return nil, nil
	}
	rf := int16(3)
	if v, err := strconv.ParseInt(cfg["errors.deadletterqueue.topic.replication.factor"], 10, 16); err == nil {
		rf = int16(v)
	}
	adm, err := clients.Admin("dead-letter-admin", nil)
	if err != nil {
		return nil, err
	}
	defer adm.Close()
	if _, err := kafka.EnsureTopic(ctx, adm, kafka.TopicSpec{Name: topic, Partitions: 1, Replication: rf}); err != nil {
		return nil, fmt.Errorf("errors.deadletterqueue.topic.name: %w", err)
	}
	p, err := clients.Producer("dead-letter-"+topic, nil)
	if err != nil {
		return nil, err
	}
	return &DeadLetter{topic: topic, context: cfg["errors.deadletterqueue.context.headers.enable"] == "true", clients: clients, producer: p}, nil
}

// Close ends the producer.
func (d *DeadLetter) Close() {
	if d != nil {
		d.producer.Close()
	}
}

// Write puts a record into the queue and waits until it is durable.
func (d *DeadLetter) Write(ctx context.Context, r *kgo.Record, stage policy.Stage, connector string, task int, why error) error {
	out := &kgo.Record{Topic: d.topic, Partition: kafka.ByKey, Key: r.Key, Value: r.Value, Timestamp: r.Timestamp}
	out.Headers = append(out.Headers, r.Headers...)
	if d.context {
		add := func(name, value string) {
			out.Headers = append(out.Headers, kgo.RecordHeader{Key: "__connect.errors." + name, Value: []byte(value)})
		}
		add("topic", r.Topic)
		add("partition", strconv.Itoa(int(r.Partition)))
		add("offset", strconv.FormatInt(r.Offset, 10))
		add("connector.name", connector)
		add("task.id", strconv.Itoa(task))
		add("stage", string(stage))
		add("class.name", "penstock")
		add("exception.class.name", "org.apache.kafka.connect.errors.DataException")
		add("exception.message", why.Error())
		add("exception.stacktrace", why.Error())
	}
	if err := d.producer.ProduceSync(ctx, out).FirstErr(); err != nil {
		return fmt.Errorf("writing a failed record to the dead letter queue %s: %w", d.topic, err)
	}
	return nil
}

// Fetch reads one record again.
func (d *DeadLetter) Fetch(ctx context.Context, at connectapi.Origin) (*kgo.Record, error) {
	cl, err := d.clients.Raw("dead-letter-fetch", kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{
		at.Topic: {at.Partition: kgo.NewOffset().At(at.Offset)},
	}))
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		fs := cl.PollRecords(ctx, 1)
		if err := fs.Err(); err != nil && (ctx.Err() != nil || !kafka.Passing(err)) {
			return nil, fmt.Errorf("reading the failed record of %s again: %w", policy.Place(at), err)
		}
		for _, r := range fs.Records() {
			if r.Offset == at.Offset {
				return r, nil
			}
			return nil, fmt.Errorf("the failed record of %s is no longer in its topic", policy.Place(at))
		}
	}
}
