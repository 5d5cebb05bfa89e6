package sink

import (
	"bytes"
	"log/slog"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestFetchErrors proves that a broker that is away is told once until it is back, that what needs somebody to act fails the
// task, and that an error of the group names the group.
func TestFetchErrors(t *testing.T) {
	refused := &kgo.ErrGroupSession{Err: &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}}
	denied := &kgo.ErrGroupSession{Err: kerr.GroupAuthorizationFailed}
	var log bytes.Buffer
	task := &Task{Config: Config{Group: "connect-out", Log: slog.New(slog.NewTextHandler(&log, nil))}}
	told := func(what string, want int) {
		t.Helper()
		if got := strings.Count(log.String(), what); got != want {
			t.Errorf("%q stands %d times in the log, want %d:\n%s", what, got, want, log.String())
		}
	}
	for range 3 {
		if err := task.fetchErrors(failed("", refused)); err != nil {
			t.Fatalf("the task fails for %v", err)
		}
	}
	told("level=WARN", 1)
	told("consumer group connect-out: unable to join group session: dial", 1)
	task.reading()
	task.reading()
	told("reading again", 1)
	if err := task.fetchErrors(failed("lines", kerr.NotLeaderForPartition)); err != nil {
		t.Errorf("the task fails for %v", err)
	}
	told("level=WARN", 2)
	if err := task.fetchErrors(failed("", denied)); err == nil || !strings.HasPrefix(err.Error(), "consumer group connect-out: ") {
		t.Errorf("a forbidden group: got %v", err)
	}
	if err := task.fetchErrors(failed("lines", kerr.TopicAuthorizationFailed)); err == nil || !strings.HasPrefix(err.Error(), "reading topic lines, partition 0: ") {
		t.Errorf("a forbidden topic: got %v", err)
	}
}

func failed(topic string, err error) kgo.Fetches {
	return kgo.Fetches{{Topics: []kgo.FetchTopic{{Topic: topic, Partitions: []kgo.FetchPartition{{Err: err}}}}}}
}
