package runtime

import "sync"

// Uses is told of the topics that connectors really use.
type Uses interface {
	// Used tells of a topic that a task read a record from, or wrote one to. It must not block.
	Used(connector string, task int, topic string)
	// Forgotten changes when what was told may be unknown again.
	Forgotten() uint64
}

// uses tells of each topic of a task once, until that is forgotten.
type uses struct {
	to        Uses
	connector string
	task      int

	mu        sync.Mutex
	forgotten uint64
	told      map[string]struct{}
	last      string // the topic that was told of last: mostly the next one, too
}

// usesOf gives what a task calls with each topic it uses.
func (r *Runtime) usesOf(connector string, task int) func(topic string) {
	if r.cfg.Uses == nil {
		return func(string) {}
	}
	u := &uses{to: r.cfg.Uses, connector: connector, task: task, told: map[string]struct{}{}}
	return u.used
}

func (u *uses) used(topic string) {
	forgotten := u.to.Forgotten()
	u.mu.Lock()
	if u.forgotten != forgotten {
		u.forgotten, u.last = forgotten, ""
		clear(u.told)
	}
	tell := false
	if u.last != topic {
		_, told := u.told[topic]
		u.told[topic], u.last = struct{}{}, topic
		tell = !told
	}
	u.mu.Unlock()
	if tell {
		u.to.Used(u.connector, u.task, topic)
	}
}
