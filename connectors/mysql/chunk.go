package mysql

import (
	"time"

	connectapi "github.com/penstockio/penstock/connect-api"
)

// chunkBytes is when a chunk is handed on.
const chunkBytes = 256 << 10

// chunk is what the reading goroutine hands to Read: rows, already encoded, and the position behind the last whole
// transaction among them.
type chunk struct {
	rows []chunkRow
	buf  []byte
	// pos stands behind posRows rows; valid if hasPos.
	pos     position
	posRows int
	hasPos  bool
}

type chunkRow struct {
	route      *connectapi.Route
	millis     int64
	key, value []byte
	header     *header
}

type header struct {
	name   string
	schema *connectapi.Schema
	value  []byte
}

func (c *chunk) reset() {
	clear(c.rows)
	c.rows, c.buf, c.hasPos = c.rows[:0], c.buf[:0], false
}

func (c *chunk) full() bool { return len(c.buf) >= chunkBytes }

func (c *chunk) empty() bool { return len(c.rows) == 0 && !c.hasPos }

// bytes lets f append to the chunk's memory and gives what it appended. Earlier slices stay valid when the memory moves.
func (c *chunk) bytes(f func([]byte) ([]byte, error)) ([]byte, error) {
	at := len(c.buf)
	out, err := f(c.buf)
	if err != nil {
		c.buf = c.buf[:at]
		return nil, err
	}
	c.buf = out
	return out[at:len(out):len(out)], nil
}

func (c *chunk) row(r *connectapi.Route, millis int64, key, value []byte, h *header) {
	c.rows = append(c.rows, chunkRow{r, millis, key, value, h})
}

// position marks the end of a transaction behind the rows so far.
func (c *chunk) position(p position) {
	c.pos, c.posRows, c.hasPos = p, len(c.rows), true
}

// fill copies rows and position into a batch of the SDK's.
func (c *chunk) fill(b *connectapi.Batch, partition connectapi.Partition) error {
	for i := range c.rows {
		if c.hasPos && i == c.posRows {
			b.Position(partition, c.pos.offset())
		}
		r := &c.rows[i]
		if r.header == nil {
			b.AppendEncoded(r.route, r.millis, r.key, r.value, connectapi.Headers{})
			continue
		}
		if err := appendWithHeader(b, r); err != nil {
			return err
		}
	}
	if c.hasPos && c.posRows == len(c.rows) {
		b.Position(partition, c.pos.offset())
	}
	return nil
}

func appendWithHeader(b *connectapi.Batch, r *chunkRow) error {
	v, err := connectapi.NewValue(r.header.schema, r.header.value).Decode()
	if err != nil {
		return err
	}
	row := b.Begin(r.route, time.UnixMilli(r.millis))
	if r.key != nil { // a null is a value nothing was written to
		row.Key.Encoded(r.key)
	}
	if r.value != nil {
		row.Value.Encoded(r.value)
	}
	row.Header(r.header.name, r.header.schema, v)
	return row.End()
}
