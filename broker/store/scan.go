package store

import (
	"errors"

	"github.com/penstockio/penstock/broker/index"
	"github.com/penstockio/penstock/broker/queue"
)

// scan walks batch entries of queues, one Pebble iterator for all of a request. Close it soon.
type scan struct {
	it  *index.Iterator
	q   queue.ID
	e   index.Entry
	key []byte
}

// seek goes to the batch that holds an offset, or the next one of the queue.
func (c *scan) seek(db *index.DB, q queue.ID, offset int64) (bool, error) {
	if c.it == nil {
		from, to := index.PrefixRange(index.PrefixBatch)
		it, err := db.Iter(from, to)
		if err != nil {
			return false, err
		}
		c.it = it
	}
	c.q = q
	c.key = index.AppendBatchKey(c.key[:0], uint32(q), offset)
	return c.load(c.it.SeekGE(c.key))
}

func (c *scan) next() (bool, error) { return c.load(c.it.Next()) }

func (c *scan) load(ok bool) (bool, error) {
	if !ok {
		return false, c.it.Error()
	}
	q, last := index.BatchLast(c.it.Key())
	if queue.ID(q) != c.q {
		return false, nil
	}
	v, err := c.it.ValueAndErr()
	if err != nil {
		return false, err
	}
	c.e, err = index.DecodeEntry(last, v)
	return err == nil, err
}

// release closes after an error, or when nothing can have gone wrong unseen: seek and next report it.
func (c *scan) release() { _ = c.close() }

func (c *scan) close() error {
	if c.it == nil {
		return nil
	}
	it := c.it
	c.it = nil
	return errors.Join(it.Error(), it.Close())
}
