package kafka

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// slogger hands the client library's messages on. Its info level is our debug: a worker has many clients.
type slogger struct {
	log *slog.Logger

	mu   sync.Mutex
	said map[string]said // by message, of which the library has a fixed number
}

// said is when a message was last let through, and how many like it were not since.
type said struct {
	at      time.Time
	leftOut int
}

// repeatAfter is the time in which a client may say the same once, above debug level: while a broker is down it would say so at
// each try, for each partition.
const repeatAfter = 5 * time.Second

func newSlogger(log *slog.Logger) *slogger { return &slogger{log: log, said: map[string]said{}} }

var levels = map[kgo.LogLevel]slog.Level{
	kgo.LogLevelError: slog.LevelWarn,
	kgo.LogLevelWarn:  slog.LevelInfo,
	kgo.LogLevelInfo:  slog.LevelDebug,
	kgo.LogLevelDebug: slog.LevelDebug - 4,
}

func (s *slogger) Level() kgo.LogLevel {
	for _, l := range []kgo.LogLevel{kgo.LogLevelDebug, kgo.LogLevelInfo, kgo.LogLevelWarn, kgo.LogLevelError} {
		if s.log.Enabled(context.Background(), levels[l]) {
			return l
		}
	}
	return kgo.LogLevelNone
}

func (s *slogger) Log(level kgo.LogLevel, msg string, kv ...any) {
	if msg == "unable to open connection to broker" {
		level = kgo.LogLevelInfo // each client says it at each try; who needs the connection tells what fails
	}
	if levels[level] > slog.LevelDebug {
		leftOut, again := s.again(msg, time.Now())
		if again {
			return
		}
		if leftOut > 0 {
			kv = append(kv[:len(kv):len(kv)], "left_out_before", leftOut)
		}
	}
	s.log.Log(context.Background(), levels[level], msg, kv...)
}

// again tells that a message was let through a moment ago, or how many were left out since it was.
func (s *slogger) again(msg string, now time.Time) (leftOut int, again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, ever := s.said[msg]
	if ever && now.Sub(last.at) < repeatAfter {
		last.leftOut++
		s.said[msg] = last
		return 0, true
	}
	s.said[msg] = said{at: now}
	return last.leftOut, false
}
