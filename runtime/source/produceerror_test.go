package source

import (
	"errors"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

func TestProduceErrorNamesTheRecord(t *testing.T) {
	long := strings.Repeat("k", 150)
	for _, tc := range []struct {
		name string
		key  string
		err  error
		says []string
		not  string
	}{
		{"too large", `{"id":1}`, kerr.MessageTooLarge, []string{`"{\"id\":1}"`, "producer.override.max.request.size", "max.message.bytes of topic t", "MESSAGE_TOO_LARGE"}, "bytes more"},
		{"long key", long, kerr.InvalidTopicException, []string{"50 bytes more", "INVALID_TOPIC"}, "max.request.size"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := produceError(&kgo.Record{Topic: "t", Key: []byte(tc.key), Value: []byte("v")}, tc.err)
			if !errors.Is(err, tc.err) {
				t.Errorf("%v is not %v", err, tc.err)
			}
			for _, w := range tc.says {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not say %q", err, w)
				}
			}
			if strings.Contains(err.Error(), tc.not) {
				t.Errorf("%q says %q", err, tc.not)
			}
		})
	}
}
