package runtime

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	connectapi "github.com/penstockio/penstock/connect-api"
)

// Automatic restart of failed tasks: the keys, Kafka Connect has none like them. They may stand in the worker's
// configuration, too, as defaults for all connectors.
const (
	restartAttempts = "errors.restart.max.attempts"
	restartDelay    = "errors.restart.delay.ms"
	restartMaxDelay = "errors.restart.delay.max.ms"
)

// RestartKeys are these keys, for validation and for the worker's configuration.
func RestartKeys() []connectapi.ConfigKey {
	key := func(name, def, display, doc string, least float64) connectapi.ConfigKey {
		return connectapi.ConfigKey{
			Name: name, Type: connectapi.LongConfig, Default: &def, Min: &least, Importance: connectapi.Medium, Group: "Error Handling",
			Width: connectapi.MediumWidth, Display: display, Doc: doc,
		}
	}
	return []connectapi.ConfigKey{
		key(restartAttempts, "20", "Most Automatic Restarts", "How often a failed task is started again by itself, counted anew after a minute of running; 0: never. "+
			"A record that cannot be handled is not tried again.", 0),
		key(restartDelay, "1000", "First Delay of Automatic Restarts", "Time (ms) before the first automatic restart; it doubles with each.", 1),
		key(restartMaxDelay, "60000", "Longest Delay of Automatic Restarts", "Longest time (ms) between two automatic restarts.", 1),
	}
}

// restartPolicy is what these keys say for one connector.
type restartPolicy struct {
	attempts    int
	delay, most time.Duration
}

// restartsOf reads the keys, which were validated; the connector's own win over the worker's.
func restartsOf(cfg, defaults map[string]string) restartPolicy {
	num := func(key string) int64 {
		for _, s := range []string{cfg[key], defaults[key]} {
			if n, err := strconv.ParseInt(s, 10, 64); err == nil {
				return n
			}
		}
		for _, k := range RestartKeys() {
			if k.Name == key {
				n, _ := strconv.ParseInt(*k.Default, 10, 64) // our own
				return n
			}
		}
		return 0
	}
	ms := func(key string) time.Duration { return time.Duration(num(key)) * time.Millisecond }
	return restartPolicy{attempts: int(num(restartAttempts)), delay: ms(restartDelay), most: ms(restartMaxDelay)}
}

// retry is how often a task failed in a row, and when it is started again.
type retry struct {
	attempts int
	at       time.Time // zero: not by itself
}

// settledError is one that comes again as long as the configuration is what it is.
type settledError struct{ error }

func (e *settledError) Unwrap() error { return e.error }

// mayHelp tells whether starting a task again can lead to another end: not when a record is at fault, or what the runtime
// itself reads of the configuration. What a plugin calls a wrong configuration may be mended elsewhere, as a missing grant.
func mayHelp(err error) bool {
	var settled *settledError
	kind := connectapi.KindOf(err)
	return !errors.As(err, &settled) && kind != connectapi.Data && kind != connectapi.EndOfInput
}

// retryLater decides on a task that failed after it ran for so long, and says in its trace what will happen.
func (n *Runner) retryLater(t *task, err error, ran time.Duration) (trace string) {
	p := restartsOf(t.spec.Connector, n.rt.cfg.Defaults)
	r := n.retries[t.id]
	if ran >= healthyAfter {
		r = retry{}
	}
	r.at = time.Time{}
	defer func() { n.retries[t.id] = r }()
	switch {
	case !mayHelp(err):
		return "It is not started again by itself: that would end the same way. Mend the cause, then restart the task."
	case p.attempts == 0:
		return "It is not started again by itself (" + restartAttempts + "=0)."
	case r.attempts >= p.attempts:
		return fmt.Sprintf("It is not started again by itself any more, after %d times (%s).", r.attempts, restartAttempts)
	}
	wait := min(p.delay<<min(r.attempts, 20), p.most)
	if said := connectapi.AsError(err); said.After > wait {
		wait = said.After
	}
	r.attempts++
	r.at = time.Now().Add(wait)
	return fmt.Sprintf("It is started again in %v (automatic restart %d of %d).", wait, r.attempts, p.attempts)
}

// retryDue tells that a failed task's time has come.
func (n *Runner) retryDue(t *task) bool {
	r, ok := n.retries[t.id]
	return ok && t.err != nil && !r.at.IsZero() && !time.Now().Before(r.at)
}
