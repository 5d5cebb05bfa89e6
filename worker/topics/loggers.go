package topics

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/penstockio/penstock/runtime/kafka/table"
)

const loggerPrefix = "logger-cluster-"

// loggerRecord is the value of a record that asks every worker for a logger's level (KIP-976).
type loggerRecord struct {
	Level string `json:"level"`
}

// PutLogger asks every worker for a logger's level; the level is written as the user wrote it. It does not wait for any.
func (c *Config) PutLogger(ctx context.Context, logger, level string) error {
	return c.tab.WriteApplied(ctx, table.Record{Key: []byte(loggerPrefix + logger), Value: encodeJSON(loggerRecord{level})})
}

// applyLogger takes such a record; one that was written before this worker started asks nothing any more, so it changes no view.
func applyLogger(log *slog.Logger, logger string, value []byte) (Change, bool) {
	if value == nil {
		return Change{}, false
	}
	var r loggerRecord
	if err := json.Unmarshal(value, &r); err != nil {
		log.Warn("ignoring a logger's level that cannot be read", "name", logger, "error", err)
		return Change{}, false
	}
	return Change{Kind: LoggerSet, Logger: logger, Level: r.Level}, true
}
