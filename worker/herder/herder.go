package herder

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/penstockio/penstock/rest/api"
	"github.com/penstockio/penstock/runtime"
	"github.com/penstockio/penstock/worker/assign"
	"github.com/penstockio/penstock/worker/group"
	"github.com/penstockio/penstock/worker/peer"
	"github.com/penstockio/penstock/worker/topics"
)

// Config is what a herder stands on.
type Config struct {
	WorkerID string // advertised host:port
	Info     api.ServerInfo
	Configs  *topics.Config
	Statuses *topics.Statuses
	Offsets  *topics.Offsets
	Runtime  *runtime.Runtime
	Admin    *kadm.Client
	Fencer   *kgo.Client // fences transactional ids
	Group    string      // group.id
	// ExactlyOnce tells that tasks of sources wait until those before were fenced.
	ExactlyOnce bool
	// Lead takes the right to write configurations from whoever had it; it does nothing while this node has it.
	Lead      func(ctx context.Context) error
	Signing   peer.Signing // of calls between workers
	Lease     func() error // nil while this node may act for its group; see group.Member
	NodeCheck func() error // more that health depends on, such as the bundled broker; may be nil
	Log       *slog.Logger
}

// Herder decides for one node. Its exported methods are safe for concurrent use.
type Herder struct {
	Config
	events chan func()
	status *statusWriter
	write  chan struct{} // who holds its one place may write configurations: I3
	peers  *peer.Client

	rejoin  func()
	ask     func(context.Context) error // nil when the broker answers
	stopped chan struct{}
	runCtx  context.Context // until Run's ends
	stop    context.CancelFunc

	// Of the loop's goroutine alone (I1):
	owned   map[assign.Unit]bool
	runners map[string]*runtime.Runner
	closing map[*runtime.Runner]string // those being closed, of which connector
	changed map[string]bool            // whose tasks were committed, or that were deleted, since the last round was joined
	waiting map[string]bool            // that have tasks here which wait for a round
	weights map[string]string          // of connectors' tasks, as configured when last looked at
	fencing map[string]bool
	retired map[string]int    // how many tasks connectors had before those that were committed since the last round
	splits  map[string]*split // of connectors that run here

	mu         sync.Mutex
	started    bool
	lost       error // written by the loop alone
	answered   bool  // the broker did, since the place was lost
	generation int32
	stable     int64 // config offset, see settle.go
	place      place
	term       int         // counts the rounds after which this node led
	renewal    *time.Timer // of the session key
	fencedTerm int         // the one in which another took the right to write
}

// New makes a herder; Changed may be given to the config topic at once, Run decides.
func New(log *slog.Logger) *Herder {
	runCtx, stop := context.WithCancel(context.Background())
	return &Herder{
		runCtx: runCtx, stop: stop,
		events: make(chan func(), 256), write: make(chan struct{}, 1), peers: peer.NewClient(), stopped: make(chan struct{}), rejoin: func() {},
		owned: map[assign.Unit]bool{}, runners: map[string]*runtime.Runner{}, closing: map[*runtime.Runner]string{}, changed: map[string]bool{}, waiting: map[string]bool{},
		fencedTerm: -1, fencing: map[string]bool{}, retired: map[string]int{}, weights: map[string]string{}, splits: map[string]*split{},
		Config: Config{Log: log},
	}
}

// Open gives the herder what it stands on; rejoin asks for a new round of the group.
func (h *Herder) Open(c Config, rejoin func()) {
	h.Config, h.rejoin, h.ask = c, rejoin, c.Configs.ReadToEnd
	h.status = newStatusWriter(c.Statuses, c.WorkerID, c.Lease, c.Log)
}

// Run decides until ctx ends, then stops everything, each connector within its drain time, and returns.
func (h *Herder) Run(ctx context.Context) {
	defer close(h.stopped)
	defer h.stop()
	defer context.AfterFunc(ctx, h.stop)()
	writer := make(chan struct{})
	go func() { defer close(writer); h.status.run() }()
	for {
		select {
		case f := <-h.events:
			f()
			continue
		case <-h.runCtx.Done():
		}
		break
	}
	h.stopAll()
	for len(h.closing) > 0 {
		(<-h.events)()
	}
	h.status.close()
	<-writer
	h.peers.Close()
}

// post runs f on the loop; it waits only while the loop is behind, and drops f when it has ended.
func (h *Herder) post(f func()) {
	select {
	case h.events <- f:
	case <-h.stopped:
	}
}

// Changed is told of every change of the config topic.
func (h *Herder) Changed(c topics.Change) {
	h.post(func() {
		switch c.Kind {
		case topics.Removed:
			h.removed(c.Connector)
			h.rejoin()
		case topics.RestartRequested:
			h.restartHere(c)
		case topics.ConfigChanged:
			h.align(c.Connector)
			if !h.owned[assign.Unit{Connector: c.Connector, Task: assign.ConnectorUnit}] || h.weightChanged(c.Connector) {
				h.rejoin() // new, or another's: a round tells
			}
		case topics.TasksCommitted:
			h.changed[c.Connector] = true
			h.retired[c.Connector] = max(h.retired[c.Connector], c.Before)
			h.align(c.Connector)
			if h.waiting[c.Connector] || h.unitsDiffer(c.Connector) {
				h.rejoin()
			}
		default:
			h.align(c.Connector)
		}
	})
}

// weightChanged tells whether a connector's tasks weigh other than when last asked.
func (h *Herder) weightChanged(name string) bool {
	k, _ := h.Configs.Get(name)
	before, now := h.weights[name], k.Config[runtime.TaskWeight]
	if now == "" {
		delete(h.weights, name)
	} else {
		h.weights[name] = now
	}
	return before != now
}

// unitsDiffer tells that a connector has tasks nobody here owns, or owned ones are gone, so that a round is due.
func (h *Herder) unitsDiffer(name string) bool {
	k, _ := h.Configs.Get(name)
	for i := range k.Tasks {
		if !h.owned[assign.Unit{Connector: name, Task: int32(i)}] {
			return true
		}
	}
	for u := range h.owned {
		if u.Connector == name && int(u.Task) >= len(k.Tasks) {
			return true
		}
	}
	return false
}

// OnAssigned takes a round's outcome: what is revoked has stopped when it returns (I2).
func (h *Herder) OnAssigned(ctx context.Context, a group.Assigned) {
	if h.Configs.Offset() < a.ConfigOffset {
		if err := h.Configs.ReadToEnd(ctx); err != nil {
			h.Log.Warn("reading the config topic to its end after an assignment failed", "error", err)
		}
	}
	done := make(chan struct{})
	h.post(func() {
		h.mu.Lock()
		h.started, h.lost = true, nil
		h.place = place{leader: a.Leader, leaderURL: a.LeaderURL, owners: a.Owners}
		if a.Leader {
			h.term++
		}
		h.generation = max(a.Generation, h.Statuses.HighestGeneration())
		h.stable = max(h.stable, a.Stable)
		h.status.joined(h.generation)
		h.mu.Unlock()
		touched, revoked := map[string]bool{}, map[string]bool{}
		for _, u := range a.Revoke {
			delete(h.owned, u)
			touched[u.Connector], revoked[u.Connector] = true, true
		}
		for _, u := range a.Add {
			h.owned[u] = true
			touched[u.Connector] = true
		}
		for name := range touched {
			h.align(name)
		}
		if h.startWaiting() {
			time.AfterFunc(waitAgain, h.rejoin)
		}
		h.forgetGone(a.Leader)
		if !a.Leader {
			go h.unlead()
		} else {
			h.renewKey()
			h.fencePending(h.Configs.Names()...)
			h.fenceRetired()
		}
		maps.DeleteFunc(h.retired, func(name string, _ int) bool { k, _ := h.Configs.Get(name); return !h.waits(k) })
		h.settle(revoked, done)
	})
	select {
	case <-done:
	case <-ctx.Done():
	case <-h.stopped:
	}
	h.Log.Debug("took part in a round of the worker group", "generation", a.Generation, "leader", a.Leader, "added", len(a.Add), "revoked", len(a.Revoke))
}

// OnLost stops everything, with next to no time to drain: another node may run it already, and what is written now is refused.
func (h *Herder) OnLost(_ context.Context, why error) {
	done := make(chan struct{})
	h.post(func() {
		h.Log.Warn("this worker lost its place in the group; its connectors stop until it has joined again", "error", why)
		h.mu.Lock()
		h.lost, h.answered, h.place = why, false, place{}
		h.mu.Unlock()
		h.status.lost()
		go h.unlead()
		revoked := map[string]bool{}
		for u := range h.owned {
			revoked[u.Connector] = true
		}
		clear(h.owned)
		for name := range h.runners {
			h.align(name)
		}
		h.settle(revoked, done)
	})
	select {
	case <-done:
	case <-h.stopped:
	}
}

// align brings a connector's runner into line with configuration and ownership, and its tasks in force with its split.
func (h *Herder) align(name string) {
	h.publishDue(name)
	k, ok := h.Configs.Get(name)
	d := runtime.Desired{Config: k.Config, Target: runtime.Target(k.Target), Tasks: map[int]runtime.TaskSpec{}, Lost: h.lost != nil}
	if ok {
		d.RunConnector = h.owned[assign.Unit{Connector: name, Task: assign.ConnectorUnit}]
		wait := h.waits(k)
		for i, t := range k.Tasks {
			if h.owned[assign.Unit{Connector: name, Task: int32(i)}] && h.mayStart(k) {
				d.Tasks[i] = runtime.TaskSpec{Connector: k.Applied, Task: t, Wait: wait}
				if wait {
					h.waiting[name] = true
				}
			}
		}
	}
	r, runs := h.runners[name]
	if !runs {
		if h.runCtx.Err() != nil {
			return // the node stops: a round that comes now finds it going
		}
		if h.closes(name) {
			return // an earlier life of the name still drains; closed aligns again
		}
		if !d.RunConnector && len(d.Tasks) == 0 {
			return
		}
		r = h.Runtime.Runner(name, runtime.Callbacks{Status: h.status.put, TaskConfigs: h.taskConfigs})
		h.runners[name] = r
	}
	r.Set(d)
}

// removed stops a deleted connector and forgets its states.
func (h *Herder) removed(name string) {
	owned := h.owned[assign.Unit{Connector: name, Task: assign.ConnectorUnit}]
	r := h.runners[name]
	delete(h.runners, name)
	delete(h.splits, name)
	h.changed[name] = true
	if r == nil {
		if owned {
			h.status.forget(name)
		}
		return
	}
	h.closing[r] = name
	go func() {
		r.Close()
		if owned {
			h.status.forget(name)
		}
		h.events <- func() { h.closed(r, name) } // Run takes it: it waits for all closings
	}()
}

// closes tells that an earlier life of a connector still drains here.
func (h *Herder) closes(name string) bool {
	for _, n := range h.closing {
		if n == name {
			return true
		}
	}
	return false
}

// closed takes the end of a runner in; the name may have been made again meanwhile.
func (h *Herder) closed(r *runtime.Runner, name string) {
	delete(h.closing, r)
	if !h.closes(name) && h.runCtx.Err() == nil {
		h.align(name)
	}
}

// forgetGone tombstones states of connectors and tasks that no longer exist; the leader does it, after each round.
func (h *Herder) forgetGone(leader bool) {
	if !leader {
		return
	}
	for _, name := range h.Statuses.Names() {
		k, ok := h.Configs.Get(name)
		if !ok {
			h.status.forget(name)
			continue
		}
		for _, t := range h.Statuses.Tasks(name) {
			if t.ID >= len(k.Tasks) && !k.Inconsistent {
				h.status.forgetTask(name, t.ID)
			}
		}
	}
}

func (h *Herder) stopAll() {
	for name, r := range h.runners {
		h.closing[r] = name
		go func() {
			r.Close()
			h.events <- func() { h.closed(r, name) }
		}()
		delete(h.runners, name)
	}
}

// Health tells whether the node works, and whether it has started at all.
func (h *Herder) Health(ctx context.Context) (bool, error) {
	h.mu.Lock()
	started, lost := h.started, h.lost
	h.mu.Unlock()
	if h.NodeCheck != nil {
		if err := h.NodeCheck(); err != nil {
			return started, err
		}
	}
	if !started {
		return false, errors.New("Worker is still starting up: it has not joined its group yet.")
	}
	if lost != nil {
		return true, fmt.Errorf("the worker is out of its group and tries to join again: %w", lost)
	}
	answered := make(chan struct{})
	h.post(func() { close(answered) })
	select {
	case <-answered:
		return true, nil
	case <-h.stopped:
		return true, errors.New("the worker is shutting down")
	case <-ctx.Done():
		return true, errors.New("the worker's decisions do not go on: its loop did not answer in time")
	}
}
