package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

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
	b, err := open(Config{DataDir: dataDir}, log, nil, true)
	if err != nil {
		return err
	}
	return errors.Join(b.Start(ctx), b.Close(context.WithoutCancel(ctx)))
}
