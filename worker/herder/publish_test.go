package herder

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/penstockio/penstock/rest/api"
	"github.com/penstockio/penstock/runtime/kafka"
	"github.com/penstockio/penstock/worker/assign"
	"github.com/penstockio/penstock/worker/topics"
)

// TestTasksArePublishedAgain: a write of task configurations that the cluster refuses is tried again, for as long as the
// connector is this node's.
func TestTasksArePublishedAgain(t *testing.T) {
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	clients, err := kafka.New(kafka.Config{Bootstrap: cluster.ListenAddrs()}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	configs, err := topics.OpenConfig(ctx, clients, kafka.TopicSpec{Name: "configs", Partitions: 1, Replication: 1}, quiet, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer configs.Close()
	statuses, err := topics.OpenStatuses(ctx, clients, kafka.TopicSpec{Name: "status", Partitions: 1, Replication: 1}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer statuses.Close()
	h := New(quiet)
	lead := func(ctx context.Context) error { return configs.Lead(ctx, clients, "connect-cluster-g") }
	if err := lead(ctx); err != nil {
		t.Fatal(err)
	}
	h.Open(Config{
		Configs: configs, Statuses: statuses, WorkerID: "w", Log: quiet, Lead: lead, Lease: func() error { return nil },
	}, func() {})
	run, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { defer close(done); h.Run(run) }()
	defer func() { stop(); <-done }()
	cfg := map[string]string{"connector.class": "X"}
	for _, name := range []string{"mine", "another's"} {
		if err := configs.PutConnector(ctx, name, cfg, nil); err != nil {
			t.Fatal(err)
		}
	}
	mine := assign.Unit{Connector: "mine", Task: assign.ConnectorUnit}
	h.post(func() { h.owned[mine] = true })
	h.mu.Lock()
	h.started, h.place = true, place{leader: true}
	h.mu.Unlock()
	var refused atomic.Int32
	cluster.ControlKey(int16(kmsg.Produce), func(req kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		if refused.Add(1) > 2 {
			return nil, nil, false
		}
		r := req.(*kmsg.ProduceRequest)
		resp := r.ResponseKind().(*kmsg.ProduceResponse)
		for _, rt := range r.Topics {
			topic := kmsg.NewProduceResponseTopic()
			topic.Topic, topic.TopicID = rt.Topic, rt.TopicID
			for _, rp := range rt.Partitions {
				p := kmsg.NewProduceResponseTopicPartition()
				p.Partition, p.ErrorCode = rp.Partition, kerr.TopicAuthorizationFailed.Code
				topic.Partitions = append(topic.Partitions, p)
			}
			resp.Topics = append(resp.Topics, topic)
		}
		return resp, nil, true
	})
	h.taskConfigs("mine", cfg, []map[string]string{{"n": "0"}})
	h.taskConfigs("another's", cfg, []map[string]string{{"n": "0"}})
	published := func() {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
			if k, _ := configs.Get("mine"); len(k.Tasks) == 1 {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("the tasks were never published; %d writes came", refused.Load())
			}
		}
	}
	published()
	if n := refused.Load(); n < 3 {
		t.Fatalf("%d writes: none was refused", n)
	}
	if k, _ := configs.Get("another's"); len(k.Tasks) != 0 {
		t.Fatal("published tasks of a connector that another node owns")
	}

	// Stopped and resumed before the connector noticed: what it split is in force again with no new split.
	for _, target := range []topics.TargetState{topics.Stopped, topics.Started} {
		if err := configs.PutTarget(ctx, "mine", target); err != nil {
			t.Fatal(err)
		}
		if target == topics.Stopped {
			if err := configs.PutTasks(ctx, "mine", nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	h.post(func() { h.publishDue("mine") })
	published()
	if err := h.writeTasks(ctx, "gone", []map[string]string{{"n": "0"}}); !deleted(err) {
		t.Errorf("tasks of a connector that is not there: %v", err)
	}
}

// TestWritesAreRefusedOutsideTheGroup: a node that lost its place waits a moment for a broker that may be just back, and not for
// one that is away.
func TestWritesAreRefusedOutsideTheGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New(slog.New(slog.DiscardHandler))
		h.lost = errors.New("kafka is away")
		h.ask = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		for name, call := range map[string]func(context.Context, string) error{
			"pause": h.Pause, "resume": h.Resume, "stop": h.Stop, "delete": h.Delete,
			"who leads": func(ctx context.Context, _ string) error { _, err := h.Leader(ctx); return err },
		} {
			began := time.Now()
			if err := call(t.Context(), "c"); err == nil || !strings.Contains(err.Error(), "nothing was changed") || !strings.Contains(err.Error(), "kafka is away") {
				t.Errorf("%s: %v", name, err)
			}
			if took := time.Since(began); took < silencePatience || took > 2*silencePatience {
				t.Errorf("%s was refused after %v", name, took)
			}
		}
		h.ask = func(context.Context) error { // the broker is back, and soon the node is in its group
			time.Sleep(silencePatience / 2)
			time.AfterFunc(2*silencePatience, func() {
				h.mu.Lock()
				h.lost = nil
				h.mu.Unlock()
			})
			return nil
		}
		_, end, err := h.beginWrite(t.Context())
		if err != nil {
			t.Fatalf("a write just before the broker is back: %v", err)
		}
		end()
	})
}

// TestAWriteWaitsForItsTurnWithinBounds: one that goes on for ever is nobody else's end.
func TestAWriteWaitsForItsTurnWithinBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New(slog.New(slog.DiscardHandler))
		write, end, err := h.beginWrite(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := h.Pause(t.Context(), "c"); err == nil || !strings.Contains(err.Error(), "Nothing was changed") || time.Since(began) != writeTimeout {
			t.Errorf("a call behind it: %v after %v", err, time.Since(began))
		}
		<-write.Done()
		if err := write.Err(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the one before has no end: %v", err)
		}
		end()

		caller, gone := context.WithCancel(t.Context())
		if write, end, err = h.beginWrite(caller); err != nil {
			t.Fatal(err)
		}
		gone()
		if write.Err() != nil {
			t.Error("a caller that went away ended a write that had begun")
		}
		h.stop()
		<-write.Done()
		if err := context.Cause(write); !errors.Is(err, errStops) {
			t.Errorf("the worker stops: %v", err)
		}
		end()
	})
}

// TestWritesWaitForAPlaceThatComes: from the moment the broker answers again a write waits until the node is back in its group.
func TestWritesWaitForAPlaceThatComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New(slog.New(slog.DiscardHandler))
		h.lost, h.answered = errors.New("kafka was away"), true
		var refused *api.Error
		if _, err := h.Leader(t.Context()); err == nil || errors.As(err, &refused) {
			t.Errorf("who leads is not final, so that the call is tried again: %v", err)
		}
		time.AfterFunc(5*time.Second, func() {
			h.mu.Lock()
			h.lost = nil
			h.mu.Unlock()
		})
		began := time.Now()
		_, end, err := h.beginWrite(t.Context())
		if err != nil || time.Since(began) < 5*time.Second {
			t.Fatalf("a write: %v after %v", err, time.Since(began))
		}
		end()
		h.lost = errors.New("kafka was away")
		began = time.Now()
		if _, _, err := h.beginWrite(t.Context()); err == nil || time.Since(began) < writeTimeout {
			t.Errorf("a place that never comes: %v after %v", err, time.Since(began))
		}
	})
}
