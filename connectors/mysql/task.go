package mysql

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"

	connectapi "github.com/penstockio/penstock/connect-api"
)

// task reads a server: one goroutine works, Read hands on what it made.
type task struct {
	cfg       Config
	ctx       connectapi.SourceContext
	log       *slog.Logger
	filter    *filter
	partition connectapi.Partition

	srv      *server
	name     string // mysql or mariadb, as events call it
	source   *connectapi.Schema
	serverID uint32
	schemas  *registry
	byGTID   bool   // the log is joined by the GTID set, not by file and position
	moved    bool   // the server is another than the position was written on
	uuid     string // the server's, MySQL only

	out    chan *chunk
	free   chan *chunk
	cur    *chunk
	cancel context.CancelFunc
	done   chan struct{}
	err    error // valid once done is closed
}

func open(ctx context.Context, cfg Config, t connectapi.SourceContext) (*task, error) {
	if err := cfg.static(); err != nil {
		return nil, err
	}
	f, err := newFilter(&cfg)
	if err != nil {
		return nil, err
	}
	srv, err := connect(ctx, &cfg)
	if err != nil {
		return nil, err
	}
	if err := srv.check(&cfg); err != nil {
		_ = srv.Close()
		return nil, err
	}
	k := &task{
		cfg: cfg, ctx: t, log: t.Log(), filter: f, partition: partitionOf(cfg.Prefix), srv: srv, name: cfg.sourceName(srv.flavor),
		serverID: uint32(cfg.ServerID), out: make(chan *chunk, 2), free: make(chan *chunk, 4), done: make(chan struct{}),
	}
	if k.serverID == 0 {
		k.serverID = 1<<20 + rand.Uint32N(1<<32-2-1<<20) // an id, no secret
	}
	k.source = sourceSchema(k.name)
	k.schemas = newRegistry(k)
	run, cancel := context.WithCancel(context.Background())
	k.cancel = cancel
	go func() {
		defer close(k.done)
		k.err = k.run(run)
	}()
	return k, nil
}

// Read hands on chunks; it waits for the first.
func (k *task) Read(ctx context.Context, b *connectapi.Batch) error {
	select {
	case c := <-k.out:
		if err := k.give(c, b); err != nil {
			return err
		}
	case <-k.done:
		select {
		case c := <-k.out: // made before the end
			return k.give(c, b)
		default:
			return k.err
		}
	case <-ctx.Done():
		return nil
	}
	for !b.Full() {
		select {
		case c := <-k.out:
			if err := k.give(c, b); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return nil
}

func (k *task) give(c *chunk, b *connectapi.Batch) error {
	err := c.fill(b, k.partition)
	c.reset()
	select {
	case k.free <- c:
	default:
	}
	return err
}

// Close stops reading.
func (k *task) Close(context.Context) error {
	k.cancel()
	_ = k.srv.Close() // breaks a query that is under way
	<-k.done
	return nil
}

// chunk gives the one being filled.
func (k *task) chunk() *chunk {
	if k.cur == nil {
		select {
		case k.cur = <-k.free:
		default:
			k.cur = &chunk{}
		}
	}
	return k.cur
}

// flush hands the current chunk on.
func (k *task) flush(ctx context.Context) error {
	if k.cur == nil || k.cur.empty() {
		return nil
	}
	select {
	case k.out <- k.cur:
		k.cur = nil
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run decides between snapshot and stream, and does them.
func (k *task) run(ctx context.Context) error {
	at, done, err := k.stored()
	if err != nil {
		return err
	}
	mode := k.cfg.snapshotMode()
	if done {
		usable, why, err := k.resume(ctx, at)
		if err != nil {
			return err
		}
		switch {
		case mode == "always":
			done = false
		case !usable && mode == "when_needed":
			k.log.Warn("the stored position is no longer in the server's log: taking a new snapshot; changes in between are only seen as rows", "why", why)
			done = false
		case !usable:
			return fmt.Errorf("the stored position %s:%d cannot be used: %s. Take a new snapshot with snapshot.mode=when_needed, or delete the connector's offsets", at.File, at.Pos, why)
		}
	}
	if done {
		if err := k.schemas.recover(ctx, at); err != nil {
			return err
		}
	} else if at, err = k.snapshot(ctx, mode != "no_data"); err != nil {
		return err
	}
	if mode == "initial_only" {
		if err := k.flush(ctx); err != nil {
			return nil // stopped
		}
		return endOfInput
	}
	if err := k.stream(ctx, at); ctx.Err() == nil {
		return err
	}
	return nil
}

var endOfInput = &connectapi.Error{Kind: connectapi.EndOfInput, Err: errors.New("the snapshot is over and snapshot.mode=initial_only reads no more")}

// stored gives the committed position; done tells that a snapshot lies behind it.
func (k *task) stored() (position, bool, error) {
	o, ok := k.ctx.Committed()[k.partition]
	if !ok || o == "" {
		return position{}, false, nil
	}
	p, sk, err := parseOffset(o)
	if err != nil {
		return p, false, err
	}
	if sk != (skip{}) {
		// Debezium's offset inside a transaction: pos is the transaction's start, so all of it is read again; repeats are
		// allowed, losses are not.
		k.log.Info("the stored offset lies inside a transaction; the transaction is read again from its start", "event", sk.Events, "row", sk.Rows)
	}
	return p, !p.Snapshot, nil
}
