package group

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/penstockio/penstock/runtime/kafka"
)

// TestARefusalNamesTheKey: what the broker will refuse for ever ends the member with an error that says what to change; one that
// passes, or meets a worker that was in once, is tried again.
func TestARefusalNamesTheKey(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	clients, err := kafka.New(kafka.Config{Bootstrap: cluster.ListenAddrs()}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	var code int16
	asked := make(chan struct{}, 100)
	cluster.ControlKey(int16(kmsg.JoinGroup), func(req kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		resp := req.ResponseKind().(*kmsg.JoinGroupResponse)
		resp.ErrorCode = code
		asked <- struct{}{}
		return resp, nil, true
	})
	for _, tc := range []struct {
		err    *kerr.Error
		joined bool
		says   string // empty: it is tried again
	}{
		{kerr.InvalidSessionTimeout, false, "session.timeout.ms=6000 of this worker: it must be from the broker's group.min.session.timeout.ms"},
		{kerr.InvalidGroupID, false, "group.id=workers"},
		{kerr.GroupAuthorizationFailed, false, "may not join group.id=workers"},
		{kerr.GroupAuthorizationFailed, true, ""},
		{kerr.InconsistentGroupProtocol, false, ""},
		{kerr.UnknownServerError, false, ""},
	} {
		code = tc.err.Code
		m, err := New(Config{
			Group: "workers", URL: "http://w/", SessionTimeout: 6 * time.Second, Heartbeat: time.Second, RebalanceTimeout: 10 * time.Second,
			View: &view{}, BeforeJoin: func(context.Context) int64 { return 0 }, OnLost: func(context.Context, error) {},
		}, clients, quiet)
		if err != nil {
			t.Fatal(err)
		}
		m.joined = tc.joined
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- m.Run(ctx) }()
		if tc.says == "" {
			<-asked
			<-asked // again
			stop()
		}
		err = <-ended
		if tc.says == "" && err != nil || tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)) {
			t.Errorf("%v: %v, want %q in it", tc.err, err, tc.says)
		}
		stop()
		for len(asked) > 0 {
			<-asked
		}
	}
}
