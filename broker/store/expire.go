package store

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/index"
	"github.com/penstockio/penstock/broker/queue"
)

// Bounds of one look at the index and of one frame: the sequencer is held while a frame is decided.
const (
	expirePage  = 4096
	expireChunk = 64
)

// fieldExpired is the field of a record of expired producers: one producer id each time it appears.
const fieldExpired = 1

// ExpireProducers implements API. A frame says which producers are forgotten, so that a rebuilt index forgets the same.
func (s *Store) ExpireProducers(ctx context.Context, before int64) (n int, err error) {
	from, to := index.PrefixRange(index.PrefixProducer)
	for {
		late, next, err := s.lateProducers(from, to, before)
		if err != nil {
			return n, err
		}
		for len(late) > 0 {
			k := 1
			for k < len(late) && k < expireChunk && late[k].q == late[0].q {
				k++
			}
			if err := ctx.Err(); err != nil {
				return n, err
			}
			m, err := s.expire(late[0].q, late[:k], before)
			if n += m; err != nil {
				return n, fmt.Errorf("forgetting idle producers of queue %d: %w", late[0].q, err)
			}
			late = late[k:]
		}
		if next == nil {
			return n, nil
		}
		from = next
	}
}

// lateProducers looks through one page of producers; next is where the following one begins, nil after the last.
func (s *Store) lateProducers(from, to []byte, before int64) (late []producerKey, next []byte, err error) {
	it, err := s.db.Iter(from, to)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	seen := 0
	for ok := it.First(); ok; ok = it.Next() {
		if seen++; seen > expirePage {
			return late, append([]byte(nil), it.Key()...), nil
		}
		v, err := it.ValueAndErr()
		if err != nil {
			return nil, nil, err
		}
		st, err := queue.DecodeProducer(v)
		if err != nil {
			return nil, nil, err
		}
		if st.IdleSince(before) {
			q, id := index.KeyOffset(it.Key())
			late = append(late, producerKey{queue.ID(q), id})
		}
	}
	return late, nil, it.Error()
}

// expire appends which of a queue's producers are forgotten, as their newest state says.
func (s *Store) expire(q queue.ID, late []producerKey, before int64) (n int, err error) {
	if err := s.enter(commitlog.ForData, commitlog.FrameSize(1+len(late)*(1+10)), false); err != nil {
		return 0, err
	}
	payload := []byte{recordVersion}
	var gone []producerKey
	for _, k := range late {
		st, gerr := s.producers.get(k)
		if gerr != nil {
			err = gerr
			break
		}
		if st.IdleSince(before) {
			payload = appendField(payload, fieldExpired, uint64(k.id))
			gone = append(gone, k)
		}
	}
	if len(gone) == 0 || err != nil {
		s.log.End()
		return 0, err
	}
	p := s.log.Put(commitlog.KindExpired, uint32(q), payload, false)
	for _, k := range gone {
		s.producers.forget(k, p.Position, s.applied.Load())
	}
	g := s.roundTag()
	s.log.End()
	t := &Ticket{}
	g.attach(t, Durable)
	<-t.Done()
	return len(gone), t.Err()
}

// expiredIDs decodes a record of expired producers.
func expiredIDs(payload []byte) (ids []int64, err error) {
	if len(payload) == 0 || payload[0] == 0 {
		return nil, errors.New("it has no version")
	}
	for b := payload[1:]; len(b) > 0; {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		b = b[n:]
		if num == fieldExpired && typ == protowire.VarintType {
			v, k := protowire.ConsumeVarint(b)
			if k < 0 {
				return nil, protowire.ParseError(k)
			}
			ids, n = append(ids, int64(v)), k
		} else if n = protowire.ConsumeFieldValue(num, typ, b); n < 0 {
			return nil, protowire.ParseError(n)
		}
		b = b[n:]
	}
	return ids, nil
}

// expired applies the record.
func (a *applier) expired(f commitlog.Frame) error {
	ids, err := expiredIDs(f.Payload)
	if err != nil {
		return fmt.Errorf("applying the expired producers at log position %d: %w", f.Position, err)
	}
	for _, id := range ids {
		a.prods[producerKey{queue.ID(f.Queue), id}] = queue.Producer{}
	}
	return nil
}
