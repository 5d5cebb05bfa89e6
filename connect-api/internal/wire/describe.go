package wire

import (
	"fmt"

	"github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/connect-api/connectpb"
)

// Description is the message that describes a connector.
func Description(d *connectapi.Definition) *connectpb.Description {
	m := &connectpb.Description{
		Protocol: connectpb.ProtocolVersion, Name: d.Name, Version: d.Version, Doc: d.Doc, Aliases: d.Aliases,
		Kind: connectpb.Description_SOURCE, TransactionBoundaries: d.Boundaries, WantsProduced: d.WantsProduced,
	}
	if d.OpenSink != nil {
		m.Kind = connectpb.Description_SINK
	}
	for i := range d.Config.Keys() {
		m.Config = append(m.Config, key(&d.Config.Keys()[i]))
	}
	for _, x := range d.Metrics {
		k := connectpb.Metric_GAUGE
		if x.Counter {
			k = connectpb.Metric_COUNTER
		}
		m.Metrics = append(m.Metrics, &connectpb.Metric{Name: x.Name, Kind: k, Unit: x.Unit, Help: x.Help})
	}
	return m
}

func key(k *connectapi.ConfigKey) *connectpb.Key {
	return &connectpb.Key{
		Name: k.Name, Type: connectpb.Key_Type(k.Type), Default: k.Default, Importance: connectpb.Key_Importance(k.Importance),
		Doc: k.Doc, Group: k.Group, Display: k.Display, Order: int32(k.Order), Width: int32(k.Width), Dependents: k.Dependents,
		OneOf: k.OneOf, Min: k.Min, Max: k.Max, Internal: k.Internal, Format: k.Format, Example: k.Example,
		Required: k.Required, Suggested: k.Suggested,
	}
}

// ToConfigDef builds the definition that messages describe.
func ToConfigDef(keys []*connectpb.Key) (*connectapi.ConfigDef, error) {
	d, err := connectapi.NewConfigDef()
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		if k.Type < 0 || k.Type > connectpb.Key_PASSWORD {
			return nil, fmt.Errorf("key %s is of no known type: %d", k.Name, k.Type)
		}
		err := d.Define(connectapi.ConfigKey{
			Name: k.Name, Type: connectapi.ConfigType(k.Type), Required: k.Required, Default: k.Default,
			Importance: connectapi.Importance(k.Importance), Doc: k.Doc, Group: k.Group, Order: int(k.Order),
			Width: connectapi.Width(k.Width), Display: k.Display, Dependents: k.Dependents, OneOf: k.OneOf,
			Suggested: k.Suggested, Min: k.Min, Max: k.Max, Internal: k.Internal, Format: k.Format, Example: k.Example,
		})
		if err != nil {
			return nil, err
		}
	}
	return d, nil
}

// Findings are the messages of findings.
func Findings(fs []connectapi.Finding) []*connectpb.Finding {
	var out []*connectpb.Finding
	for _, f := range fs {
		out = append(out, &connectpb.Finding{
			Key: f.Key, Errors: f.Errors, Recommended: f.Recommended, Hidden: f.Hidden, Warnings: f.Warnings,
		})
	}
	return out
}

// ToFindings reads findings.
func ToFindings(fs []*connectpb.Finding) []connectapi.Finding {
	var out []connectapi.Finding
	for _, f := range fs {
		out = append(out, connectapi.Finding{
			Key: f.Key, Errors: f.Errors, Recommended: f.Recommended, Hidden: f.Hidden, Warnings: f.Warnings,
		})
	}
	return out
}
