package connectapi

import (
	"context"
	"fmt"
)

// Definition makes the source's configuration struct a ConfigDef and its functions ones of maps.
func (s Source[C]) Definition() (*Definition, error) {
	def, err := configOf[C](s.Name)
	if err != nil {
		return nil, err
	}
	if s.Open == nil {
		return nil, fmt.Errorf("connector %s: Open is not set", s.Name)
	}
	d := &Definition{Info: s.Info, Config: def, Boundaries: s.Boundaries}
	d.Validate = validate(def, s.Validate)
	d.Tasks = tasks(def, s.Tasks, func(cfg C, _ int) []C { return []C{cfg} })
	if s.Watch != nil {
		d.Watch = func(ctx context.Context, values map[string]string, changed func()) error {
			cfg, err := DecodeConfig[C](def, values)
			if err != nil {
				return err
			}
			return s.Watch(ctx, cfg, changed)
		}
	}
	if s.ExactlyOnce != nil {
		d.ExactlyOnce = func(values map[string]string) bool {
			cfg, err := DecodeConfig[C](def, values)
			return err == nil && s.ExactlyOnce(cfg)
		}
	}
	if s.Alter != nil {
		d.Alter = func(ctx context.Context, values map[string]string, to []Position, dryRun bool) (bool, error) {
			cfg, err := DecodeConfig[C](def, values)
			if err != nil {
				return false, err
			}
			return s.Alter(ctx, cfg, to, dryRun)
		}
	}
	d.Deleted = deleted(def, s.Deleted)
	d.OpenSource = func(ctx context.Context, values map[string]string, t SourceContext) (SourceTask, error) {
		cfg, err := DecodeConfig[C](def, values)
		if err != nil {
			return nil, err
		}
		return s.Open(ctx, cfg, t)
	}
	return d, nil
}

// Definition makes the sink's configuration struct a ConfigDef and its functions ones of maps.
func (s Sink[C]) Definition() (*Definition, error) {
	def, err := configOf[C](s.Name)
	if err != nil {
		return nil, err
	}
	if s.Open == nil {
		return nil, fmt.Errorf("connector %s: Open is not set", s.Name)
	}
	d := &Definition{Info: s.Info, Config: def}
	d.Validate = validate(def, s.Validate)
	d.Tasks = tasks(def, s.Tasks, func(cfg C, n int) []C {
		all := make([]C, n)
		for i := range all {
			all[i] = cfg
		}
		return all
	})
	d.Deleted = deleted(def, s.Deleted)
	d.OpenSink = func(ctx context.Context, values map[string]string, t SinkContext) (SinkTask, error) {
		cfg, err := DecodeConfig[C](def, values)
		if err != nil {
			return nil, err
		}
		return s.Open(ctx, cfg, t)
	}
	return d, nil
}

func configOf[C any](name string) (*ConfigDef, error) {
	if name == "" {
		return nil, fmt.Errorf("a connector has no name")
	}
	def, err := ConfigOf[C]()
	if err != nil {
		return nil, fmt.Errorf("connector %s: %w", name, err)
	}
	return def, nil
}

func validate[C any](def *ConfigDef, f func(context.Context, C) error) func(context.Context, map[string]string) ([]Finding, error) {
	if f == nil {
		return nil
	}
	return func(ctx context.Context, values map[string]string) ([]Finding, error) {
		cfg, err := DecodeConfig[C](def, values)
		if err != nil {
			return nil, nil // the definition's own findings say so already
		}
		return FindingsOf(f(ctx, cfg))
	}
}

func deleted[C any](def *ConfigDef, f func(context.Context, C) error) func(context.Context, map[string]string) error {
	if f == nil {
		return nil
	}
	return func(ctx context.Context, values map[string]string) error {
		cfg, err := DecodeConfig[C](def, values)
		if err != nil {
			return err
		}
		return f(ctx, cfg)
	}
}

func tasks[C any](
	def *ConfigDef, split func(context.Context, C, int) ([]C, error), otherwise func(C, int) []C,
) func(context.Context, map[string]string, int) ([]map[string]string, error) {
	return func(ctx context.Context, values map[string]string, most int) ([]map[string]string, error) {
		cfg, err := DecodeConfig[C](def, values)
		if err != nil {
			return nil, err
		}
		all := otherwise(cfg, most)
		if split != nil {
			if all, err = split(ctx, cfg, most); err != nil {
				return nil, err
			}
		}
		if len(all) > most {
			return nil, fmt.Errorf("%d tasks were made where %d are allowed", len(all), most)
		}
		out := make([]map[string]string, len(all))
		for i, c := range all {
			out[i] = EncodeConfig(def, c, values)
		}
		return out, nil
	}
}
