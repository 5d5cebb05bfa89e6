package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/penstockio/penstock/broker/queue"
	"github.com/penstockio/penstock/broker/store"
)

// Reindex rebuilds the index of a stopped broker from its log. It refuses while the log can't give everything the index
// holds: then the index is left as it is.
func Reindex(ctx context.Context, dataDir string, log *slog.Logger) error {
	c, err := store.Verify(ctx, dataDir, store.Options{}, log)
	if err != nil {
		return err
	}
	if len(c.Problems) > 0 {
		return fmt.Errorf("the log can't give a whole index, so the one there is was left as it is: %s", strings.Join(c.Problems, "; "))
	}
	return once(ctx, dataDir, log, func(*Broker) {})
}

// Repair takes what is damaged out of a stopped broker's log, and rebuilds the index; see store.Repair. It also gives the
// partitions of the queues that lost records, by name.
func Repair(ctx context.Context, dataDir string, log *slog.Logger) (r store.Repaired, names map[queue.ID]string, err error) {
	if r, err = store.Repair(ctx, dataDir, store.Options{}, log); err != nil || r.History == 0 {
		return r, nil, err
	}
	names = map[queue.ID]string{}
	err = once(ctx, dataDir, log, func(b *Broker) {
		for _, t := range b.topics.All() {
			for p := range t.Partitions() {
				if q, ok := t.Queue(p); ok {
					names[q] = fmt.Sprintf("%s-%d", t.Name, p)
				}
			}
		}
	})
	if err != nil {
		err = fmt.Errorf("the log was repaired, but the broker does not start on it: %w", err)
	}
	return r, names, err
}

// once starts a broker without listeners that rebuilds its index, lets f look at it, and stops it.
func once(ctx context.Context, dataDir string, log *slog.Logger, f func(*Broker)) error {
	b, err := open(Config{DataDir: dataDir}, log, nil, true)
	if err != nil {
		return err
	}
	if err = b.Start(ctx); err == nil {
		f(b)
	}
	return errors.Join(err, b.Close(context.WithoutCancel(ctx)))
}
