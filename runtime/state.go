package runtime

import "maps"

// ConnectorUnit is the task number that stands for the connector itself.
const ConnectorUnit = -1

// State is the state of a connector or task.
type State string

// The states a node reports.
const (
	Running    State = "RUNNING"
	Paused     State = "PAUSED"
	Stopped    State = "STOPPED"
	Failed     State = "FAILED"
	Unassigned State = "UNASSIGNED"
	Restarting State = "RESTARTING"
)

// Target is what the user wants a connector to be.
type Target string

// The targets.
const (
	Started Target = "STARTED"
	OnPause Target = "PAUSED"
	OnStop  Target = "STOPPED"
)

// Status is a change of a unit's state.
type Status struct {
	Connector string
	Task      int // or ConnectorUnit
	State     State
	Trace     string // why it failed, for people
	Attempts  int    // of a failed one: how often in a row it was, or will be, started again by itself
	NextTry   int64  // when it is started again by itself, Unix ms; 0: never
}

// TaskSpec is a task's configuration and the connector configuration it was made from.
type TaskSpec struct {
	Connector map[string]string
	Task      map[string]string
	// Wait holds its start back: what ran before it, elsewhere too, has not stopped yet. A task that runs with the same
	// configuration runs on.
	Wait bool
}

func sameConfig(a, b map[string]string) bool { return maps.Equal(a, b) }

func (s TaskSpec) same(o TaskSpec) bool {
	return sameConfig(s.Task, o.Task) && sameConfig(s.Connector, o.Connector)
}

// Desired is all that should run of one connector on this node.
type Desired struct {
	Config       map[string]string // as the user wrote it
	Target       Target
	RunConnector bool
	Tasks        map[int]TaskSpec
	Lost         bool // this node lost its place in the group: tasks that stop are cut off instead of drained
}

func (d Desired) nothing() bool { return !d.RunConnector && len(d.Tasks) == 0 }

// Callbacks are how a runner tells its caller; they must not block.
type Callbacks struct {
	Status func(Status)
	// TaskConfigs hands over the tasks the connector wants, made from the configuration given.
	TaskConfigs func(connector string, from map[string]string, tasks []map[string]string)
}

// report tells a unit's state when it changed.
func (n *Runner) report(id int, s State, trace string) {
	n.tell(Status{Connector: n.name, Task: id, State: s, Trace: trace})
}

// reportFailed tells why a unit failed, how often in a row, and when it is started again.
func (n *Runner) reportFailed(id int, trace string, again retry) {
	st := Status{Connector: n.name, Task: id, State: Failed, Trace: trace, Attempts: again.attempts}
	if !again.at.IsZero() {
		st.NextTry = again.at.UnixMilli()
	}
	n.tell(st)
}

func (n *Runner) tell(st Status) {
	id, s := st.Task, st.State
	if n.reported[id] == st {
		return
	}
	if n.reported[id].State != s {
		if id == ConnectorUnit {
			n.log.Info("the connector's state changed", "state", s)
		} else {
			n.log.Info("a task's state changed", "task", id, "state", s)
		}
	}
	n.reported[id] = st
	n.cb.Status(st)
}
