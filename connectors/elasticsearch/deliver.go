package elasticsearch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/penstockio/penstock/connect-api"
)

const (
	maxBackoff     = 10 * time.Second
	maxPatience    = 16 // times read.timeout.ms
	leastBulkBytes = 1024
)

// pause is how long to wait before sending again.
type pause struct {
	first time.Duration
	long  time.Duration // the first where somebody must do something
	n     int
}

// next returns half to all of a pause that doubles.
func (p *pause) next(long bool) time.Duration {
	d := p.first
	if long {
		d = max(d, p.long)
	}
	d = min(d<<min(p.n, 20), maxBackoff)
	if d <= 0 {
		d = maxBackoff
	}
	p.n++
	return d/2 + rand.N(d/2+1)
}

// send sends a chunk until each of its items has come to its end. An error is fatal, or ctx's.
func (l *lane) send(ctx context.Context, c *chunk) error {
	which := make([]int, len(c.items))
	for i := range which {
		which[i] = i
	}
	err := l.deliver(ctx, c, which)
	l.t.waits(l.number, "")
	return err
}

// deliver sends some items of a chunk, in order, until each has come to its end.
func (l *lane) deliver(ctx context.Context, c *chunk, which []int) error {
	p := l.t.pause()
	tries := int32(0)
	patience := 1
	for {
		if which = l.ours(c, which); len(which) == 0 {
			return nil
		}
		out, err := l.request(ctx, c, which, time.Duration(patience)*l.t.set.ReadTimeout)
		if err != nil {
			return err
		}
		if out.timedOut {
			patience = min(2*patience, maxPatience)
		}
		switch out.verdict {
		case done:
			tries = 0
			left, why, long, err := l.settle(c, which, out.items)
			if err != nil || len(left) == 0 {
				return err
			}
			if len(left) < len(which) {
				p.n = 0 // it goes on
			}
			which, out.why = left, why
			out.long = long
		case split:
			return l.halves(ctx, c, which, out)
		case again:
			if tries++; tries > l.t.set.MaxRetries {
				return fmt.Errorf("sending %d documents to Elasticsearch at %s: %s, %d times in a row (max.retries)", len(which), l.t.set.hosts(), out.why, tries)
			}
		case fatal:
			return out.err
		}
		l.t.counters.retries.Add(1)
		l.t.waits(l.number, out.why)
		if err := sleep(ctx, p.next(out.long)); err != nil {
			return err
		}
	}
}

// halves sends items in two parts, one after the other: the server refused the request and not one of them.
func (l *lane) halves(ctx context.Context, c *chunk, which []int, out outcome) error {
	if len(which) == 1 {
		it := &c.items[which[0]]
		err := fmt.Errorf("Elasticsearch refuses the document: %s", out.why) //nolint:staticcheck // a name
		if out.tooLarge {
			err = fmt.Errorf("the document has %d bytes, more than Elasticsearch takes (its http.max_content_length): %s", it.to-it.from, out.why)
			l.t.failItem(it, err)
		} else {
			l.t.malformed(it, err)
		}
		it.batch.done(1)
		return nil
	}
	l.t.counters.splits.Add(1)
	if out.tooLarge {
		size := 0
		for _, i := range which {
			size += c.items[i].to - c.items[i].from
		}
		l.t.shrink(int64(size / 2))
	}
	mid := len(which) / 2
	if err := l.deliver(ctx, c, which[:mid]); err != nil {
		return err
	}
	return l.deliver(ctx, c, which[mid:])
}

// ours leaves out items whose partition was taken away: another task sends them now.
func (l *lane) ours(c *chunk, which []int) []int {
	if !l.t.track.anyGone() {
		return which
	}
	kept := which[:0:0]
	for _, i := range which {
		it := &c.items[i]
		if l.t.track.isGone(connectapi.TopicPartition{Topic: it.origin.Topic, Partition: it.origin.Partition}, it.batch) {
			it.batch.done(1)
			continue
		}
		kept = append(kept, i)
	}
	return kept
}

// outcome is what became of a request.
type outcome struct {
	verdict  verdict
	items    []itemReply
	why      string
	err      error
	long     bool
	tooLarge bool
	timedOut bool
}

// request sends items once.
func (l *lane) request(ctx context.Context, c *chunk, which []int, timeout time.Duration) (outcome, error) {
	body := c.lines
	if len(which) < len(c.items) {
		body = nil // new memory: an answer may come while the last body is still being sent
		for _, i := range which {
			body = append(body, c.lines[c.items[i].from:c.items[i].to]...)
		}
	}
	if err := l.t.limit.acquire(ctx); err != nil {
		return outcome{}, err
	}
	status, reply, err := l.t.client.bulk(ctx, timeout, body)
	l.t.counters.requests.Add(1)
	out := l.judge(c, which, status, reply, err)
	overloaded := out.timedOut || status == http.StatusTooManyRequests
	for i := range out.items {
		overloaded = overloaded || out.items[i].Status == http.StatusTooManyRequests
	}
	l.t.limit.release(overloaded)
	return out, ctx.Err()
}

// judge says what a request's answer means.
func (l *lane) judge(c *chunk, which []int, status int, reply []byte, err error) outcome {
	set := l.t.set
	if err != nil {
		if permanent(err) {
			return outcome{verdict: fatal, err: connectionProblem(set, err)}
		}
		return outcome{verdict: wait, timedOut: errors.Is(err, errTimeout), why: fmt.Sprintf("Elasticsearch at %s cannot be reached: %v", set.hosts(), err)}
	}
	if status >= 200 && status < 300 {
		items, err := parseReply(reply, len(which))
		if err == nil {
			err = l.sameIDs(c, which, items)
		}
		if err != nil { // some may be applied: sending all again is safe by id (I2)
			return outcome{verdict: again, why: fmt.Sprintf("the answer of Elasticsearch at %s makes no sense: %v", set.hosts(), err)}
		}
		return outcome{verdict: done, items: items}
	}
	cause := errorOf(reply)
	v := judgeStatus(status, cause.Type)
	why := set.redact(statusText(status, reply))
	out := outcome{verdict: v, long: v == waitLong, tooLarge: status == http.StatusRequestEntityTooLarge, why: why}
	switch v {
	case fatal:
		out.err = refusal(set, status, why)
	case wait, waitLong:
		out.why = fmt.Sprintf("Elasticsearch at %s takes no documents for now: %s", set.hosts(), why)
	}
	return out
}

func (l *lane) sameIDs(c *chunk, which []int, items []itemReply) error {
	for k, i := range which {
		if id := items[k].ID; id != c.items[i].id {
			return fmt.Errorf("item %d is of id %.100q and not %.100q", k, id, c.items[i].id)
		}
	}
	return nil
}

// settle ends the items that came to their end, and returns those to send again. With an item go all later ones of its id,
// so that what is sent last is what came last (I2).
func (l *lane) settle(c *chunk, which []int, replies []itemReply) (left []int, why string, long bool, err error) {
	type key struct{ index, id string }
	var held map[key]bool
	for k, i := range which {
		it, r := &c.items[i], &replies[k]
		v := judgeItem(it.op, it.versioned, r)
		if v == again {
			if it.tries++; it.tries > l.t.set.MaxRetries {
				v = failRecord
			}
		}
		id := key{it.index, it.id}
		if v == again || v == wait || v == waitLong || held[id] {
			if held == nil {
				held = map[key]bool{}
			}
			held[id] = true
			left = append(left, i)
			if why == "" && v != done {
				why = fmt.Sprintf("Elasticsearch at %s takes no documents for index %s: %s", l.t.set.hosts(), it.index, itemText(r))
			}
			long = long || v == waitLong
			continue
		}
		if err = l.end(it, r, v); err != nil {
			return nil, "", false, err
		}
	}
	return left, why, long, nil
}

// end brings an item to its end.
func (l *lane) end(it *item, r *itemReply, v verdict) error {
	switch v {
	case done:
		l.t.counters.documents.Add(1)
	case conflict:
		l.t.counters.conflicts.Add(1)
	case refused:
		l.t.malformed(it, fmt.Errorf("Elasticsearch refuses document %.100q of index %s: %s", it.id, it.index, itemText(r))) //nolint:staticcheck // a name
	case failRecord:
		l.t.failItem(it, fmt.Errorf("writing document %.100q of index %s failed %d times (max.retries): %s", it.id, it.index, it.tries, itemText(r)))
	default:
		return itemRefusal(l.t.set, it, r)
	}
	it.batch.done(1)
	return nil
}

func itemText(r *itemReply) string {
	return fmt.Sprintf("status %d, %s", r.Status, r.Error.String())
}

// sleep waits; an error is ctx's.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
