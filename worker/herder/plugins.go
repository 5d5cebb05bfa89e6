package herder

import (
	"context"
	"net/http"

	connectapi "github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/rest/api"
	"github.com/penstockio/penstock/runtime"
)

// Plugins lists what the node knows.
func (h *Herder) Plugins(connectorsOnly bool) []api.PluginInfo {
	out := []api.PluginInfo{}
	for _, c := range h.Runtime.Classes(connectorsOnly) {
		out = append(out, api.PluginInfo{Class: c.Class, Type: c.Type, Version: c.Version})
	}
	return out
}

// PluginConfig lists a class's keys.
func (h *Herder) PluginConfig(ctx context.Context, class string) ([]api.ConfigKey, error) {
	keys, err := h.Runtime.Definitions(ctx, class)
	if err != nil {
		return nil, api.Errorf(http.StatusNotFound, "%v", err)
	}
	out := []api.ConfigKey{}
	for i := range keys {
		out = append(out, *keyOf(&keys[i]))
	}
	return out, nil
}

// Validate checks a configuration for a plugin; what is wrong stands in the answer.
func (h *Herder) Validate(ctx context.Context, class string, cfg api.Config) (api.ConfigInfos, error) {
	given := cfg["connector.class"]
	if given == "" {
		return api.ConfigInfos{}, api.Errorf(http.StatusBadRequest, "%v", runtime.ErrNoClass)
	}
	if !runtime.SameClass(class, given) {
		return api.ConfigInfos{}, api.Errorf(http.StatusBadRequest, "Included connector type %s does not match request type %s", given, class)
	}
	v, err := h.Runtime.Validate(ctx, cfg)
	if err != nil {
		return api.ConfigInfos{}, validateError(err)
	}
	out := api.ConfigInfos{Name: given, ErrorCount: len(v.Errors()), Groups: append([]string{}, v.Groups...), Configs: []api.ConfigInfo{}}
	for _, it := range v.Items {
		val := &api.ConfigValue{
			Name: it.Value.Name, Value: it.Text, RecommendedValues: orEmpty(it.Value.Recommended),
			Errors: orEmpty(it.Value.Errors), Visible: it.Value.Visible,
		}
		ci := api.ConfigInfo{Value: val}
		if it.Key != nil {
			ci.Definition = keyOf(it.Key)
		}
		out.Configs = append(out.Configs, ci)
	}
	return out, nil
}

func keyOf(k *connectapi.ConfigKey) *api.ConfigKey {
	out := &api.ConfigKey{
		Name: k.Name, Type: k.Type.String(), Required: k.Required, Importance: k.Importance.String(), Documentation: k.Doc,
		Width: k.Width.String(), DisplayName: k.Display, Dependents: orEmpty(k.Dependents), Order: k.Order,
	}
	if k.Default != nil {
		d := *k.Default
		if k.Type == connectapi.PasswordConfig {
			d = connectapi.Hidden
		}
		out.DefaultValue = &d
	}
	if k.Group != "" {
		g := k.Group
		out.Group = &g
	} else {
		out.Order = -1
	}
	if out.DisplayName == "" {
		out.DisplayName = k.Name
	}
	return out
}

func orEmpty(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
