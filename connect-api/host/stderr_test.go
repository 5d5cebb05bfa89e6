package host

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

func TestLogLine(t *testing.T) {
	for _, tc := range []struct{ name, line, log, text string }{
		{"text", "plain words", `level=INFO msg="plain words"`, "plain words"},
		{"JSON", `{"@level":"warn","@message":"slow","topic":"t","at":9007199254740993}`, `level=WARN msg=slow at=9007199254740993 topic=t`, "slow at=9007199254740993 topic=t"},
		{"slog's names", `{"level":"ERROR","msg":"no","time":"2026-01-01T00:00:00Z","ok":false}`, `level=ERROR msg=no ok=false`, "no ok=false"},
		{"JSON and more", `{"a":1} and more`, `level=INFO msg="{\"a\":1} and more"`, `{"a":1} and more`},
		{"broken JSON", `{"a":`, `level=INFO msg="{\"a\":"`, `{"a":`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out bytes.Buffer
			log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.TimeKey {
					return slog.Attr{}
				}
				return a
			}}))
			if text := logLine(log, []byte(tc.line)); text != tc.text {
				t.Errorf("text %q, want %q", text, tc.text)
			}
			if got := strings.TrimSpace(out.String()); got != tc.log {
				t.Errorf("logged %s, want %s", got, tc.log)
			}
		})
	}
}
