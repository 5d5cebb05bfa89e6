package topics

import (
	"context"
	"errors"

	"github.com/penstockio/penstock/runtime/kafka"
	"github.com/penstockio/penstock/runtime/kafka/table"
)

// errNotLeading is what a write meets that only the group's leader makes.
var errNotLeading = errors.New("this worker does not lead its group, so it writes no configurations")

// Lead gives this node the right to write configurations, until another takes it: all but target states go through a
// transactional producer with this id, so that whoever led before is fenced on any broker. What that one committed has been
// read when Lead returns. It does nothing while the right is held.
func (c *Config) Lead(ctx context.Context, clients *kafka.Clients, id string) error {
	c.leadMu.Lock()
	defer c.leadMu.Unlock()
	if c.writer != nil && c.writer.Broken() == nil {
		return nil
	}
	c.dropWriter()
	w, err := c.tab.Take(ctx, clients, id)
	if err != nil {
		return err
	}
	if err := c.tab.ReadToEnd(ctx); err != nil {
		w.Close()
		return err
	}
	c.writer = w
	return nil
}

// Unlead gives the right up.
func (c *Config) Unlead() {
	c.leadMu.Lock()
	defer c.leadMu.Unlock()
	c.dropWriter()
}

// Broken tells why this node, which had the right, cannot write any more: table.ErrFenced that another has taken it since, any
// other that a write failed, until Lead takes it anew.
func (c *Config) Broken() error {
	c.leadMu.Lock()
	defer c.leadMu.Unlock()
	if c.writer == nil {
		return nil
	}
	return c.writer.Broken()
}

func (c *Config) dropWriter() {
	if c.writer != nil {
		c.writer.Close()
		c.writer = nil
	}
}

// lead writes what only the leader writes, and waits until the view has it.
func (c *Config) lead(ctx context.Context, rows ...table.Record) error {
	c.leadMu.Lock()
	w := c.writer
	c.leadMu.Unlock()
	if w == nil {
		return errNotLeading
	}
	return w.WriteApplied(ctx, rows...)
}
