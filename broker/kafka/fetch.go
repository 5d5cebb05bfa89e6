package kafka

import (
	"context"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/penstockio/penstock/broker/store"
	"github.com/penstockio/penstock/broker/topic"
)

// fetching is one Fetch under way.
type fetching struct {
	s       *Server
	c       *call
	req     *kmsg.FetchRequest
	resp    *kmsg.FetchResponse
	cursors []store.Cursor
	targets []*kmsg.FetchResponseTopicPartition // of cursors
	epochs  []int32                             // of cursors: the leader epoch the client believes in, -1 none
	wrong   bool                                // some partition has an error, which is answered at once
	budget  int
	batches []spliced // of targets that have some
	release func()    // gives the answer's memory back
}

// fetch answers batches. It parks until enough is readable, something is wrong, or the client's time is up; it never
// polls. Sessions (KIP-227) are declined, which every client accepts.
func (s *Server) fetch(c *call) answer {
	req := c.req.(*kmsg.FetchRequest)
	f := &fetching{s: s, c: c, req: req, resp: kmsg.NewPtrFetchResponse()}
	f.resp.Version = req.Version
	f.resp.Topics = []kmsg.FetchResponseTopic{}
	if e := f.refused(); e != errNone {
		f.resp.ErrorCode = e
		if req.Version < 7 { // no top-level error yet
			f.everywhere(e)
		}
		return answer{resp: f.resp}
	}
	f.budget = s.cfg.FetchBytes
	if req.MaxBytes > 0 {
		f.budget = min(f.budget, int(req.MaxBytes))
	}
	f.resolve()
	f.park()
	return answer{resp: f.resp, batches: f.batches, release: f.release}
}

// refused checks what concerns the whole request.
func (f *fetching) refused() int16 {
	replica := f.req.ReplicaID
	if f.req.Version >= 15 {
		replica = f.req.ReplicaState.ID
	}
	switch {
	case replica >= 0:
		return kerr.InvalidRequest.Code // there are no followers
	case f.req.SessionID != 0:
		return kerr.FetchSessionIDNotFound.Code
	case f.req.Version >= 7 && f.req.SessionEpoch > 0:
		return kerr.InvalidFetchSessionEpoch.Code
	}
	return errNone
}

func (f *fetching) everywhere(e int16) {
	for i := range f.req.Topics {
		q := &f.req.Topics[i]
		r := kmsg.NewFetchResponseTopic()
		r.Topic, r.TopicID = q.Topic, q.TopicID
		for j := range q.Partitions {
			p := emptyPartition(q.Partitions[j].Partition)
			p.ErrorCode = e
			r.Partitions = append(r.Partitions, p)
		}
		f.resp.Topics = append(f.resp.Topics, r)
	}
}

func emptyPartition(n int32) kmsg.FetchResponseTopicPartition {
	p := kmsg.NewFetchResponseTopicPartition()
	p.Partition = n
	p.HighWatermark, p.LastStableOffset, p.LogStartOffset = -1, -1, -1
	p.PreferredReadReplica = -1
	p.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{}
	p.RecordBatches = []byte{} // I5: librdkafka fails on null
	return p
}

// resolve turns the asked partitions into cursors, in the order asked.
func (f *fetching) resolve() {
	f.resp.Topics = make([]kmsg.FetchResponseTopic, len(f.req.Topics))
	for i := range f.req.Topics {
		q, r := &f.req.Topics[i], &f.resp.Topics[i]
		r.Topic, r.TopicID = q.Topic, q.TopicID
		r.Partitions = make([]kmsg.FetchResponseTopicPartition, len(q.Partitions))
		t, e := f.readable(q)
		for j := range q.Partitions {
			at := &r.Partitions[j]
			*at = emptyPartition(q.Partitions[j].Partition)
			if e != errNone {
				f.fail(at, e)
				continue
			}
			id, ok := t.Queue(at.Partition)
			if !ok {
				f.fail(at, errUnknownPartition)
				continue
			}
			f.cursors = append(f.cursors, store.Cursor{
				Queue:     id,
				Offset:    q.Partitions[j].FetchOffset,
				MaxBytes:  int(q.Partitions[j].PartitionMaxBytes),
				Committed: f.req.IsolationLevel == 1,
				Files:     f.c.files,
			})
			f.targets = append(f.targets, at)
			f.epochs = append(f.epochs, q.Partitions[j].CurrentLeaderEpoch)
		}
	}
	f.checkEpochs()
}

func (f *fetching) readable(q *kmsg.FetchRequestTopic) (*topic.Topic, int16) {
	t := f.s.topics.Get(q.Topic)
	if f.req.Version >= 13 {
		if t = f.s.topics.GetID(q.TopicID); t == nil {
			return nil, kerr.UnknownTopicID.Code
		}
	}
	name := q.Topic
	if t != nil {
		name = t.Name
	}
	if !f.s.allow(f.c, Read, TopicResource, name) {
		return nil, kerr.TopicAuthorizationFailed.Code
	}
	if t == nil {
		return nil, errUnknownPartition
	}
	return t, errNone
}

func (f *fetching) fail(at *kmsg.FetchResponseTopicPartition, e int16) {
	at.ErrorCode, f.wrong = e, true
}

// checkEpochs refuses partitions whose leader epoch the client is behind or ahead of (KIP-320).
func (f *fetching) checkEpochs() {
	keep := 0
	for i, cur := range f.cursors {
		if f.req.Version >= 9 && f.epochs[i] >= 0 {
			if h, err := f.s.st.Head(cur.Queue); err == nil {
				if e := epochError(f.epochs[i], h.Epoch); e != errNone {
					f.fail(f.targets[i], e)
					continue
				}
			}
		}
		f.cursors[keep], f.targets[keep] = cur, f.targets[i]
		keep++
	}
	f.cursors, f.targets = f.cursors[:keep], f.targets[:keep]
}

// epochError compares the leader epoch a client believes in with the queue's.
func epochError(client, current int32) int16 {
	switch {
	case client < 0 || client == current:
		return errNone
	case client < current:
		return kerr.FencedLeaderEpoch.Code
	}
	return kerr.UnknownLeaderEpoch.Code
}

// answerMemory bounds what the answers of all Fetches under way hold together; answerFloor is what each may have all the same.
const (
	answerMemory = 128 << 20
	answerFloor  = 64 << 10
)

// park reads until the answer is worth sending, and fills it in. The result's memory is in use until the answer is sent.
func (f *fetching) park() {
	if len(f.cursors) == 0 {
		return
	}
	deadline := f.c.arrived.Add(time.Duration(max(f.req.MaxWaitMillis, 0)) * time.Millisecond)
	ctx, cancel := context.WithDeadline(f.c.ctx, deadline)
	defer cancel()
	reading := context.WithoutCancel(f.c.ctx) // who is told to stop waiting still gets an answer
	for last, enough := false, false; ; {
		reserved := f.s.answers.reserve(f.budget)
		res, err := f.s.st.Read(reading, reserved, f.cursors...)
		if err != nil {
			f.s.answers.settle(reserved, 0)
			for _, at := range f.targets {
				f.fail(at, code(err))
			}
			return
		}
		n, held, bad := size(res)
		f.s.answers.settle(reserved, held)
		// The limits of the request can be below its min bytes: then whatever fits is the answer.
		if last || f.wrong || bad || n >= int(f.req.MinBytes) || enough && n > 0 || ctx.Err() != nil {
			f.fill(res)
			f.release = func() {
				res.Release()
				f.s.answers.settle(held, 0)
			}
			return
		}
		res.Release()
		f.s.answers.settle(held, 0)
		// An error here is the end of the time or a broken store; the read that follows tells which.
		last = f.s.st.Wait(ctx, max(int(f.req.MinBytes), 1), f.cursors...) != nil
		enough = true
	}
}

// size is how many bytes of batches a result has, and how many of them are in memory.
func size(res *store.Result) (bytes, held int, bad bool) {
	for i := range res.Parts {
		n, h := res.Parts[i].Size()
		bytes, held = bytes+n, held+h
		bad = bad || res.Parts[i].Err != nil
	}
	return bytes, held, bad
}

func (f *fetching) fill(res *store.Result) {
	for i := range res.Parts {
		part, at := &res.Parts[i], f.targets[i]
		if part.Err != nil {
			at.ErrorCode = code(part.Err)
			if at.ErrorCode == errUnknownPartition && f.req.Version >= 13 {
				at.ErrorCode = kerr.UnknownTopicID.Code // deleted while the request was parked
			}
			continue
		}
		at.HighWatermark, at.LastStableOffset, at.LogStartOffset = part.HighWatermark, part.LastStable, part.LogStart
		if part.Batches != nil {
			at.RecordBatches = part.Batches
		}
		if n, _ := part.Size(); part.Pieces != nil {
			f.batches = append(f.batches, spliced{at, part.Pieces, n})
		}
		for _, a := range part.Aborted {
			r := kmsg.NewFetchResponseTopicPartitionAbortedTransaction()
			r.ProducerID, r.FirstOffset = a.ProducerID, a.FirstOffset
			at.AbortedTransactions = append(at.AbortedTransactions, r)
		}
		slices.SortFunc(at.AbortedTransactions, func(a, b kmsg.FetchResponseTopicPartitionAbortedTransaction) int {
			return int(min(max(a.FirstOffset-b.FirstOffset, -1), 1))
		})
	}
}
