package kafka

import (
	"context"
	"log/slog"

	"github.com/twmb/franz-go/pkg/kgo"
)

// slogger hands the client library's messages on. Its info level is our debug: a worker has many clients.
type slogger struct{ log *slog.Logger }

var levels = map[kgo.LogLevel]slog.Level{
	kgo.LogLevelError: slog.LevelWarn,
	kgo.LogLevelWarn:  slog.LevelInfo,
	kgo.LogLevelInfo:  slog.LevelDebug,
	kgo.LogLevelDebug: slog.LevelDebug - 4,
}

func (s slogger) Level() kgo.LogLevel {
	for _, l := range []kgo.LogLevel{kgo.LogLevelDebug, kgo.LogLevelInfo, kgo.LogLevelWarn, kgo.LogLevelError} {
		if s.log.Enabled(context.Background(), levels[l]) {
			return l
		}
	}
	return kgo.LogLevelNone
}

func (s slogger) Log(level kgo.LogLevel, msg string, kv ...any) {
	if msg == "unable to open connection to broker" {
		level = kgo.LogLevelInfo // each client says it at each try; who needs the connection tells what fails
	}
	s.log.Log(context.Background(), levels[level], msg, kv...)
}
