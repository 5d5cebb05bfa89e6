package host

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
)

const (
	tailBytes   = 4 << 10  // of stderr kept for errors
	longestLine = 64 << 10 // of stderr; longer ones are logged in parts
)

// tail keeps the last lines written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *tail) add(line []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(append(t.buf, line...), '\n')
	if over := len(t.buf) - tailBytes; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(strings.TrimSpace(string(t.buf)), "�")
}

// pump reads a plugin's output line by line into the log, and into the tail, until it ends.
func pump(r io.Reader, log *slog.Logger, keep *tail) {
	in := bufio.NewReaderSize(r, longestLine)
	for {
		line, err := in.ReadSlice('\n')
		if line = bytes.TrimRight(line, "\r\n"); len(line) > 0 {
			if text := logLine(log, line); keep != nil {
				keep.add([]byte(text))
			}
		}
		if err != nil && err != bufio.ErrBufferFull {
			return
		}
	}
}

// logLine logs one line: a JSON object as its level, message and members, anything else as a message. It returns the line
// as a person reads it.
func logLine(log *slog.Logger, line []byte) string {
	text := string(line)
	if line[0] != '{' {
		log.Info(text)
		return text
	}
	var m map[string]any
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber() // an offset or an id stays the number it was
	if d.Decode(&m) != nil || d.InputOffset() != int64(len(line)) {
		log.Info(text)
		return text
	}
	take := func(names ...string) string {
		for _, n := range names {
			if s, ok := m[n].(string); ok {
				delete(m, n)
				return s
			}
		}
		return ""
	}
	level, message := take("@level", "level"), take("@message", "msg", "message")
	take("@timestamp", "time", "timestamp")
	attrs := make([]any, 0, len(m))
	text = message
	for _, k := range slices.Sorted(maps.Keys(m)) {
		attrs = append(attrs, slog.Any(strings.TrimPrefix(k, "@"), m[k]))
		switch m[k].(type) {
		case string, json.Number, bool:
			text += fmt.Sprintf(" %s=%v", k, m[k])
		}
	}
	log.Log(context.Background(), levelOf(level), message, attrs...)
	return text
}

func levelOf(name string) slog.Level {
	switch strings.ToLower(name) {
	case "trace", "debug":
		return slog.LevelDebug
	case "warn", "warning":
		return slog.LevelWarn
	case "error", "fatal", "panic":
		return slog.LevelError
	}
	return slog.LevelInfo
}
