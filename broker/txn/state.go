package txn

// State of a transactional id. The numbers are Kafka's and stand in the log.
type State uint8

// The states. PrepareEpochFence is Kafka's step before it aborts a fenced producer's transaction; here both are one, so
// it is only ever asked for.
const (
	Empty State = iota
	Ongoing
	PrepareCommit
	PrepareAbort
	CompleteCommit
	CompleteAbort
	Dead
	PrepareEpochFence
)

var stateNames = [...]string{
	"Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence",
}

func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "Unknown"
}

// ParseState finds a state by its name.
func ParseState(name string) (State, bool) {
	for i, n := range stateNames {
		if n == name {
			return State(i), true
		}
	}
	return 0, false
}

func (s State) prepared() bool { return s == PrepareCommit || s == PrepareAbort }

// ended is the state in which a decision ends.
func ended(commit bool) (prepare, complete State) {
	if commit {
		return PrepareCommit, CompleteCommit
	}
	return PrepareAbort, CompleteAbort
}
