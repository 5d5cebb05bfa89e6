package kafka

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestCommonSettings: unprefixed client keys of a worker reach every client; a role's own win.
func TestCommonSettings(t *testing.T) {
	clients, err := New(Config{Bootstrap: []string{"127.0.0.1:1"}, Props: map[string]string{
		"metadata.max.age.ms": "60000", "request.timeout.ms": "1234", "connections.max.idle.ms": "-1", "consumer.metadata.max.age.ms": "7000",
	}}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := clients.Raw("raw")
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	consumer, err := clients.Consumer("c", "g", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer consumer.Close()
	for _, tc := range []struct {
		cl   *kgo.Client
		opt  any
		want time.Duration
	}{
		{raw, kgo.MetadataMaxAge, time.Minute},
		{raw, kgo.RequestTimeoutOverhead, 1234 * time.Millisecond},
		{raw, kgo.ConnIdleTimeout, mostTimeout},
		{consumer, kgo.MetadataMaxAge, 7 * time.Second},
		{consumer, kgo.ConnIdleTimeout, mostTimeout},
	} {
		if got := tc.cl.OptValue(tc.opt); got != tc.want {
			t.Errorf("%v, want %v", got, tc.want)
		}
	}
	for _, key := range []string{"metadata.max.age.ms", "request.timeout.ms", "connections.max.idle.ms"} {
		_, err := New(Config{Bootstrap: []string{"127.0.0.1:1"}, Props: map[string]string{key: "soon"}}, slog.New(slog.DiscardHandler))
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", key, err)
		}
	}
}
