package herder

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"time"

	"github.com/penstockio/penstock/rest/api"
	"github.com/penstockio/penstock/worker/assign"
	"github.com/penstockio/penstock/worker/topics"
)

// How long one attempt to publish a connector's tasks may take, and the wait after it failed.
const (
	publishTimeout    = 30 * time.Second
	publishBackoff    = time.Second
	publishMaxBackoff = time.Minute
)

// split is how a connector of this node last divided its work.
type split struct {
	from  map[string]string
	tasks []map[string]string
	again time.Duration // the wait after the next attempt to publish that fails
	busy  bool          // an attempt, or the wait after one, goes on
}

// taskConfigs takes the tasks a connector made.
func (h *Herder) taskConfigs(name string, from map[string]string, tasks []map[string]string) {
	stored := make([]map[string]string, len(tasks))
	for i, t := range tasks {
		stored[i] = storedTask(from, t)
	}
	h.post(func() {
		h.splits[name] = &split{from: from, tasks: stored, again: publishBackoff}
		h.publishDue(name)
	})
}

// publishDue publishes a connector's tasks while they are not those in force: because they are new, an attempt failed, or
// others were committed since, such as none when it was stopped for a moment. One attempt of a split goes on at a time.
func (h *Herder) publishDue(name string) {
	s := h.splits[name]
	if s == nil || h.runCtx.Err() != nil {
		return
	}
	k, ok := h.Configs.Get(name)
	if !ok || !h.owned[assign.Unit{Connector: name, Task: assign.ConnectorUnit}] {
		delete(h.splits, name) // whoever has it splits again
		return
	}
	if s.busy || k.Target != topics.Started || !maps.Equal(k.Config, s.from) || sameTasks(k, s.tasks) {
		return
	}
	s.busy = true
	go func() {
		ctx, cancel := context.WithTimeout(h.runCtx, publishTimeout)
		err := h.publish(ctx, name, s.tasks)
		cancel()
		if err != nil && h.runCtx.Err() == nil {
			level := slog.LevelError
			if deleted(err) {
				level = slog.LevelDebug // this node will read so, too
			}
			h.Log.Log(ctx, level, "publishing the tasks of a connector failed, trying again", "connector", name, "error", err, "in", s.again)
			select {
			case <-time.After(s.again):
			case <-h.runCtx.Done():
			}
		}
		h.post(func() {
			if err != nil {
				s.again = min(2*s.again, publishMaxBackoff)
			} else {
				s.again = publishBackoff
			}
			s.busy = false
			h.publishDue(name)
		})
	}()
}

// publish writes the tasks, or has the leader write them.
func (h *Herder) publish(ctx context.Context, name string, tasks []map[string]string) error {
	leader, err := h.Leader(ctx)
	if err != nil {
		return err
	}
	if leader == "" {
		return h.writeTasks(ctx, name, tasks)
	}
	key, have := h.Configs.SessionKey()
	if !have {
		return errNoKey
	}
	if err := h.peers.PutTasks(ctx, leader, h.Signing, key, name, tasks); err != nil {
		return err
	}
	return h.Configs.ReadToEnd(ctx) // what was written is in the view before anybody compares
}

// deleted tells that the leader does not know the connector any more.
func deleted(err error) bool {
	var answer *api.Error
	return errors.As(err, &answer) && answer.ErrorCode == http.StatusNotFound
}

var errNoKey = errors.New("the group's session key has not been read yet")

// sameTasks tells that these tasks, made from the present configuration, are in force already.
func sameTasks(k topics.Connector, tasks []map[string]string) bool {
	same := len(tasks) == len(k.Tasks) && !k.Inconsistent && maps.Equal(k.Applied, k.Config)
	for i := 0; same && i < len(tasks); i++ {
		same = maps.Equal(tasks[i], k.Tasks[i])
	}
	return same
}

// writeTasks is the leader's part.
func (h *Herder) writeTasks(ctx context.Context, name string, tasks []map[string]string) error {
	ctx, end, err := h.beginLeading(ctx)
	if err != nil {
		return err
	}
	defer end()
	k, ok := h.Configs.Get(name)
	switch {
	case !ok:
		return notFound(name)
	case k.Target == topics.Stopped && len(tasks) > 0, sameTasks(k, tasks):
		return nil // stopped while they were on the way: it splits again when it goes on
	}
	return conflicting(h.Configs.PutTasks(ctx, name, tasks))
}

// PutTasks takes a connector's tasks from the worker that runs it; body is what was signed.
func (h *Herder) PutTasks(ctx context.Context, name string, header http.Header, body []byte) error {
	key, have := h.Configs.SessionKey()
	if err := h.Signing.Verify(key, have, header, body); err != nil {
		return err
	}
	var tasks []map[string]string
	if err := json.Unmarshal(body, &tasks); err != nil {
		return api.Errorf(http.StatusBadRequest, "decoding the tasks of connector %s: %v", name, err)
	}
	if leader, err := h.Leader(ctx); err != nil {
		return err
	} else if leader != "" {
		return api.Errorf(http.StatusConflict, "Cannot complete request because of a conflicting operation (e.g. worker rebalance): the leader is %s", leader)
	}
	return h.writeTasks(ctx, name, tasks)
}

// renewKey makes a session key if there is none or it is old, off the loop; the leader does it after each round, and when the
// key's time is over. So it also takes the right to write at once, which ends an earlier leader's.
func (h *Herder) renewKey() {
	go func() {
		ctx, cancel := context.WithTimeout(h.runCtx, publishTimeout)
		defer cancel()
		ctx, end, err := h.beginLeading(ctx)
		if err != nil {
			if h.runCtx.Err() == nil {
				h.Log.Warn("taking the right to write configurations failed; the next write tries again", "error", err)
			}
			return
		}
		defer end()
		k, _ := h.Configs.SessionKey()
		if time.Now().After(h.Signing.Expires(k)) {
			k = h.Signing.NewKey(time.Now())
			if err := h.Configs.PutSessionKey(ctx, k); err != nil && h.runCtx.Err() == nil {
				h.Log.Warn("writing a new session key failed; it is tried again", "error", err, "in", publishMaxBackoff)
				k.Created = time.Now().Add(publishMaxBackoff - h.Signing.KeyTTL)
			}
		}
		h.renewKeyAt(h.Signing.Expires(k))
	}()
}

// renewKeyAt has the key renewed at a time, if this node leads then.
func (h *Herder) renewKeyAt(t time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.renewal != nil {
		h.renewal.Stop()
	}
	h.renewal = time.AfterFunc(time.Until(t)+time.Millisecond, func() {
		h.post(func() {
			if h.leads() {
				h.renewKey()
			}
		})
	})
}
