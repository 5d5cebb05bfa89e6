package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/penstockio/penstock/connect-api/host"
	"github.com/penstockio/penstock/runtime/convert"
	"github.com/penstockio/penstock/runtime/plugins"
	"github.com/penstockio/penstock/runtime/policy"
	"github.com/penstockio/penstock/runtime/sink"
	"github.com/penstockio/penstock/runtime/source"
	"github.com/penstockio/penstock/runtime/transform"
)

// builder makes a task out of its resolved configuration and frees what it made.
type builder struct {
	rt     *Runtime
	name   string
	id     int
	spec   TaskSpec
	proc   *host.Process
	plugin *plugins.Plugin
	log    *slog.Logger

	closers []func()
}

func (b *builder) close() {
	for i := len(b.closers) - 1; i >= 0; i-- {
		b.closers[i]()
	}
}

// open gives the function that runs the task.
func (b *builder) open(ctx context.Context, gate *source.Gate) (run func(context.Context) error, err error) {
	cfg := b.spec.Connector
	if err := b.rt.cfg.Overrides.check(cfg); err != nil {
		return nil, &settledError{err}
	}
	chain, err := transform.New(cfg)
	if err != nil {
		return nil, &settledError{err}
	}
	key, value, header, err := converters(cfg, b.rt.cfg.Defaults)
	if err != nil {
		return nil, &settledError{err}
	}
	task := strconv.Itoa(b.id)
	pol := policy.New(cfg, b.log, b.rt.policy, b.name, task)
	b.closers = append(b.closers, func() { b.rt.policy.Forget(b.name, task) })
	if b.plugin.Sink {
		t, err := b.sink(ctx, gate, chain, key, value, header, pol)
		if err != nil {
			return nil, err
		}
		return b.watched(t, t.Run), nil
	}
	t, err := b.source(ctx, gate, chain, key, value, header, pol)
	if err != nil {
		return nil, err
	}
	return b.watched(t, t.Run), nil
}

// watched runs the task with an eye on what it reports.
func (b *builder) watched(t reporter, run func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		watch, stop := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() { defer close(done); b.rt.watchReports(watch, b.name, b.id, t, b.log) }()
		defer func() { stop(); <-done }()
		return run(ctx)
	}
}

func (b *builder) source(ctx context.Context, gate *source.Gate, chain *transform.Chain, key, value convert.Converter, header convert.HeaderConverter, pol *policy.Policy) (*source.Task, error) {
	task := strconv.Itoa(b.id)
	p, err := b.rt.clients.Producer(fmt.Sprintf("connector-producer-%s-%d", b.name, b.id), under(b.spec.Connector, "producer.override."))
	if err != nil {
		return nil, err
	}
	b.closers = append(b.closers, p.Close, func() { b.rt.sources.Forget(b.name, task) })
	fenced, err := b.rt.clients.Fenced(fmt.Sprintf("connector-positions-%s-%d", b.name, b.id), under(b.spec.Connector, "producer.override."),
		fmt.Sprintf("%s-%s-%d", b.rt.cfg.Group, b.name, b.id))
	if err != nil {
		return nil, err
	}
	b.closers = append(b.closers, fenced.Close)
	topics, err := b.topics(p)
	if err != nil {
		return nil, err
	}
	return source.Open(ctx, source.Config{
		Connector: b.name, Plugin: b.plugin.Name, Task: b.id, Props: b.props(), Process: b.proc, Producer: p, Fenced: fenced, Offsets: b.rt.offsets,
		Exact: b.exact(), Lease: b.rt.cfg.Lease,
		Topics: topics, Chain: chain, Key: key, Value: value, Header: header, Policy: pol, Interval: b.rt.cfg.Interval, Drain: b.rt.drain,
		Used: b.rt.usesOf(b.name, b.id), Metrics: b.rt.sources.Task(b.name, task), Log: b.log,
	}, gate)
}

// exact says how the task's transactions end; nil without exactly-once support of the worker.
func (b *builder) exact() *source.Exact {
	if !b.rt.cfg.ExactlyOnce {
		return nil
	}
	e := &source.Exact{Boundary: source.Boundary(valueOr(b.spec.Connector[boundaryKey], string(source.PollBoundary)))}
	if ms, err := strconv.ParseInt(b.spec.Connector[boundaryInterval], 10, 64); err == nil { // validated
		e.Interval = time.Duration(ms) * time.Millisecond
	}
	return e
}

func (b *builder) sink(ctx context.Context, gate *source.Gate, chain *transform.Chain, key, value convert.Converter, header convert.HeaderConverter, pol *policy.Policy) (*sink.Task, error) {
	task := strconv.Itoa(b.id)
	dlq, err := sink.NewDeadLetter(ctx, b.spec.Connector, b.rt.clients)
	if err != nil {
		return nil, err
	}
	b.closers = append(b.closers, dlq.Close, func() { b.rt.sinks.Forget(b.name, task) })
	overrides := under(b.spec.Connector, "consumer.override.")
	group := consumerGroup(b.name, b.spec.Connector)
	return sink.Open(ctx, sink.Config{
		Connector: b.name, Plugin: b.plugin.Name, Task: b.id, Props: b.props(), Process: b.proc, Clients: b.rt.clients, Overrides: overrides,
		Group: group, Member: fmt.Sprintf("%s-%s-%d", b.rt.cfg.Group, b.name, b.id), Session: b.rt.cfg.Session,
		Chain: chain, Key: key, Value: value, Header: header, Policy: pol, DeadLetter: dlq, Interval: b.rt.cfg.Interval, Drain: b.rt.drain,
		Used: b.rt.usesOf(b.name, b.id), Metrics: b.rt.sinks.Task(b.name, task), Log: b.log,
	}, gate)
}

const groupOverride = "consumer.override.group.id"

func consumerGroup(name string, cfg map[string]string) string {
	return valueOr(cfg[groupOverride], "connect-"+name)
}

// ConsumerGroup names the group of a sink, whose configuration may hold references.
func (r *Runtime) ConsumerGroup(name string, cfg map[string]string) (string, error) {
	res, err := r.cfg.Providers.Resolve(map[string]string{groupOverride: cfg[groupOverride]})
	return consumerGroup(name, res.Values), err
}

// props is what the plugin sees: the task's own keys; for a sink also which topics it reads.
func (b *builder) props() map[string]string {
	out := maps.Clone(b.spec.Task)
	for _, k := range []string{"topics", "topics.regex"} {
		if v, ok := b.spec.Connector[k]; ok && b.plugin.Sink {
			if _, own := out[k]; !own {
				out[k] = v
			}
		}
	}
	return out
}

func (b *builder) topics(p *kgo.Client) (*topics, error) {
	return newTopics(b.spec.Connector, b.rt.cfg.TopicsEnable, b.rt.clients, p)
}

// CheckConverters makes the converters that a worker's configuration names for connectors that name none, to tell what is wrong
// with them before a task needs them.
func CheckConverters(worker map[string]string) error {
	_, _, _, err := converters(nil, worker)
	return err
}

// converters makes those of a connector, or of the worker where it names none; all problems come in one error.
func converters(cfg, defaults map[string]string) (key, value convert.Converter, header convert.HeaderConverter, err error) {
	var problems []error
	told := func(name string, err error) {
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", name, err))
		}
	}
	class, sub := converterOf(cfg, defaults, "key.converter")
	key, err = convert.New(class, convert.Key, sub)
	told("key.converter", err)
	class, sub = converterOf(cfg, defaults, "value.converter")
	value, err = convert.New(class, convert.Other, sub)
	told("value.converter", err)
	class, sub = converterOf(cfg, defaults, "header.converter")
	header, err = convert.NewHeader(class, sub)
	told("header.converter", err)
	return key, value, header, errors.Join(problems...)
}

// converterOf gives class and sub-keys: the connector's when it names a class, else the worker's, never mixed.
func converterOf(cfg, defaults map[string]string, key string) (string, map[string]string) {
	from := defaults
	if cfg[key] != "" {
		from = cfg
	}
	return from[key], under(from, key+".")
}

func under(cfg map[string]string, prefix string) map[string]string {
	out := map[string]string{}
	for k, v := range cfg {
		if rest, ok := strings.CutPrefix(k, prefix); ok {
			out[rest] = v
		}
	}
	return out
}
