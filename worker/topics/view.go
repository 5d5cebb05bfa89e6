package topics

import "context"

// Each calls f with every connector, its configuration and its number of tasks. f must not call the store, nor keep or
// change what it is given.
func (c *Config) Each(f func(name string, cfg map[string]string, tasks int)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, k := range c.conns {
		f(name, k.Config, len(k.Tasks))
	}
}

// ReadToEnd waits until the view holds all that is durable now.
func (s *Statuses) ReadToEnd(ctx context.Context) error { return s.tab.ReadToEnd(ctx) }

// Task gives a task's status.
func (s *Statuses) Task(name string, id int) (Status, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, ok := s.tasks[name][id]
	return st, ok
}
