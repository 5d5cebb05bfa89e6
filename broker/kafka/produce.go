package kafka

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/penstockio/penstock/broker/batch"
	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/store"
	"github.com/penstockio/penstock/broker/topic"
	"github.com/penstockio/penstock/broker/txn"
)

// lowestProduce is the first Produce version with RecordBatch v2; the ones below are advertised but refused in-band.
const lowestProduce = 3

// abortable is the first Produce version whose clients abort on TRANSACTION_ABORTABLE (KIP-890) where older ones give up.
const abortable = 11

// groupBytes bounds what one append holds: a request's partitions need not survive together, and the log refuses groups
// above a quarter segment.
const groupBytes = 256 << 10

// producing is one Produce under way: appended in order by the handler, completed by the writer.
type producing struct {
	s       *Server
	resp    *kmsg.ProduceResponse
	acks    int16
	until   time.Time
	entries []store.Entry
	bytes   int
	targets []*kmsg.ProduceResponseTopicPartition // of entries
	waiting []appended
	refused bool
}

type appended struct {
	ticket  *store.Ticket
	targets []*kmsg.ProduceResponseTopicPartition
}

// produce appends batches. Success is answered when the data is as safe as acks asks; with acks=0 nothing is answered,
// and a refusal ends the connection so that the client notices.
func (s *Server) produce(c *call) answer {
	req := c.req.(*kmsg.ProduceRequest)
	p := &producing{s: s, resp: kmsg.NewPtrProduceResponse(), acks: req.Acks}
	p.resp.Version = req.Version
	p.until = c.arrived.Add(time.Duration(max(req.TimeoutMillis, 0)) * time.Millisecond)
	p.resp.Topics = make([]kmsg.ProduceResponseTopic, len(req.Topics))
	for i := range req.Topics {
		q, r := &req.Topics[i], &p.resp.Topics[i]
		r.Topic, r.TopicID = q.Topic, q.TopicID
		r.Partitions = make([]kmsg.ProduceResponseTopicPartition, len(q.Partitions))
		t, err := s.producible(c, req, q)
		for j := range q.Partitions {
			at := &r.Partitions[j]
			*at = kmsg.NewProduceResponseTopicPartition()
			at.Partition = q.Partitions[j].Partition
			at.BaseOffset, at.LogAppendTime, at.LogStartOffset = -1, -1, -1
			at.ErrorRecords = []kmsg.ProduceResponseTopicPartitionErrorRecord{}
			if err == nil {
				p.add(req, t, q.Partitions[j].Records, at)
			} else {
				p.refuse(at, err)
			}
		}
	}
	p.flush()
	a := answer{resp: p.resp, wait: p.wait}
	if req.Acks == 0 {
		a.resp = nil
		a.hangUp = func() bool { return p.refused }
	}
	return a
}

// producible finds the topic a request may append to.
func (s *Server) producible(c *call, req *kmsg.ProduceRequest, q *kmsg.ProduceRequestTopic) (*topic.Topic, error) {
	if req.Version < lowestProduce {
		return nil, fmt.Errorf("Produce version %d carries message formats before Kafka 0.11: %w", req.Version, kerr.UnsupportedVersion)
	}
	if req.Acks < -1 || req.Acks > 1 {
		return nil, fmt.Errorf("acks=%d, want -1, 0 or 1: %w", req.Acks, kerr.InvalidRequiredAcks)
	}
	t := s.topics.Get(q.Topic)
	if req.Version >= 13 {
		if t = s.topics.GetID(q.TopicID); t == nil {
			return nil, fmt.Errorf("producing to topic %s: %w", topic.ID(q.TopicID), kerr.UnknownTopicID)
		}
	}
	name := q.Topic
	if t != nil {
		name = t.Name
	}
	if id := req.TransactionID; id != nil && !s.allow(c, Write, TxnResource, *id) {
		return nil, fmt.Errorf("transactional id %q: %w", *id, kerr.TransactionalIDAuthorizationFailed)
	}
	if !s.allow(c, Write, TopicResource, name) {
		return nil, fmt.Errorf("producing to topic %q: %w", name, kerr.TopicAuthorizationFailed)
	}
	if t == nil {
		return nil, fmt.Errorf("producing to topic %q: %w", name, kerr.UnknownTopicOrPartition)
	}
	return t, nil
}

// add checks one batch and lines it up for the append.
func (p *producing) add(req *kmsg.ProduceRequest, t *topic.Topic, records []byte, at *kmsg.ProduceResponseTopicPartition) {
	q, ok := t.Queue(at.Partition)
	if !ok {
		p.refuse(at, fmt.Errorf("topic %q has %d partitions, no partition %d: %w", t.Name, t.Partitions(), at.Partition, kerr.UnknownTopicOrPartition))
		return
	}
	rules := batch.Rules{
		MaxBytes:   t.Config.MaxMessageBytes,
		AppendTime: t.Config.AppendTime,
		Compacted:  t.Config.Compact,
		NoZstd:     req.Version < 7,
		Txn:        req.TransactionID != nil,
	}
	now := time.Now().UnixMilli()
	if ahead := t.Config.TimestampAfter; ahead < math.MaxInt64-now {
		rules.LatestTime = now + ahead
	}
	b, err := batch.Check(records, rules)
	if err == nil && !t.Config.AppendTime && t.Config.TimestampBefore < now && b.MaxTime() < now-t.Config.TimestampBefore {
		err = fmt.Errorf("timestamp %d is more than %s=%d behind the broker's clock: %w", b.MaxTime(), topic.TimestampBefore, t.Config.TimestampBefore, kerr.InvalidTimestamp)
	}
	if err == nil && b.Transactional() {
		err = p.s.ownTxn(b.ProducerID(), *req.TransactionID)
	}
	if err != nil {
		p.refuse(at, err)
		return
	}
	if p.bytes > 0 && p.bytes+len(b) > groupBytes {
		p.flush()
	}
	p.entries = append(p.entries, store.Entry{Kind: commitlog.KindData, Queue: q, Batch: b})
	p.targets = append(p.targets, at)
	p.bytes += len(b)
}

// ownTxn refuses a transactional id that is not the producer's.
func (s *Server) ownTxn(producer int64, id string) error {
	if owner, ok := s.txns.Owner(producer); ok && owner != id {
		return fmt.Errorf("producer %d belongs to transactional id %q, not to %q: %w", producer, owner, id, kerr.InvalidProducerIDMapping)
	}
	return nil
}

// flush appends what is lined up.
func (p *producing) flush() {
	if len(p.entries) == 0 {
		return
	}
	safety := store.Durable
	switch p.acks {
	case 0:
		safety = store.Buffered
	case 1:
		safety = store.Written
	}
	p.waiting = append(p.waiting, appended{p.s.st.Append(safety, p.entries...), p.targets})
	p.entries, p.targets, p.bytes = nil, nil, 0
}

// wait completes the answer as tickets are done, or when the client's time is up: then the data may still be in the log.
func (p *producing) wait() {
	var timer *time.Timer
	for _, a := range p.waiting {
		select {
		case <-a.ticket.Done():
		default:
			if timer == nil {
				timer = time.NewTimer(max(time.Until(p.until), 0))
				defer timer.Stop()
			}
			select {
			case <-a.ticket.Done():
			case <-timer.C:
				timer.Reset(0) // the tickets behind this one are late too
				for _, at := range a.targets {
					p.refuse(at, fmt.Errorf("the record is not durable yet: %w", kerr.RequestTimedOut))
				}
				continue
			}
		}
		p.complete(a)
	}
}

func (p *producing) complete(a appended) {
	if err := a.ticket.Err(); err != nil {
		for _, at := range a.targets {
			p.refuse(at, err)
		}
		return
	}
	for i, r := range a.ticket.Results() {
		at := a.targets[i]
		if r.Err != nil {
			p.refuse(at, r.Err)
			continue
		}
		at.BaseOffset, at.LogAppendTime, at.LogStartOffset = r.BaseOffset, r.AppendTime, r.LogStart
	}
}

func (p *producing) refuse(at *kmsg.ProduceResponseTopicPartition, err error) {
	p.refused = true
	at.ErrorCode, at.ErrorMessage = code(err), text(err)
	if p.resp.Version >= abortable && errors.Is(err, txn.ErrNotAdded) {
		at.ErrorCode = kerr.TransactionAbortable.Code
	}
	if bad := batchError(err); bad != nil && bad.Record >= 0 {
		r := kmsg.NewProduceResponseTopicPartitionErrorRecord()
		r.RelativeOffset, r.ErrorMessage = int32(bad.Record), &bad.Reason
		at.ErrorRecords = append(at.ErrorRecords, r)
	}
}
