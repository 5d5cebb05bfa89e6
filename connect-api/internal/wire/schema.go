// Package wire turns what connectapi holds into the messages of connectpb and back, for both ends of the wire.
package wire

import (
	"fmt"

	"github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/connect-api/connectpb"
)

// Schema is the message of a schema; id 0 but at the root.
func Schema(id uint32, s *connectapi.Schema) *connectpb.Schema {
	if s == nil {
		return nil
	}
	m := &connectpb.Schema{
		Id: id, Type: connectpb.Schema_Type(s.Type()), Optional: s.Optional(), Name: s.Name(), Version: s.Version(),
		Doc: s.Doc(), Default: s.EncodedDefault(), Keys: Schema(0, s.Keys()), Values: Schema(0, s.Elem()),
	}
	for _, p := range s.Parameters() {
		if m.Parameters == nil {
			m.Parameters = map[string]string{}
		}
		m.Parameters[p.Key] = p.Value
	}
	for _, f := range s.Fields() {
		m.Fields = append(m.Fields, &connectpb.Field{Name: f.Name, Schema: Schema(0, f.Schema)})
	}
	return m
}

// ToSchema builds the schema a message describes.
func ToSchema(m *connectpb.Schema) (*connectapi.Schema, error) { return toSchema(m, 0) }

func toSchema(m *connectpb.Schema, depth int) (*connectapi.Schema, error) {
	if m == nil {
		return nil, fmt.Errorf("a schema is missing")
	}
	if depth > connectapi.MaxSchemaDepth {
		return nil, fmt.Errorf("a schema is nested deeper than %d", connectapi.MaxSchemaDepth)
	}
	b := connectapi.NewSchema(connectapi.Type(min(m.Type, 255)))
	switch m.Type {
	case connectpb.Schema_ARRAY, connectpb.Schema_MAP:
		elem, err := toSchema(m.Values, depth+1)
		if err != nil {
			return nil, err
		}
		b = connectapi.NewArray(elem)
		if m.Type == connectpb.Schema_MAP {
			keys, err := toSchema(m.Keys, depth+1)
			if err != nil {
				return nil, err
			}
			b = connectapi.NewMap(keys, elem)
		}
	case connectpb.Schema_STRUCT:
		b = connectapi.NewStruct(m.Name)
		for _, f := range m.Fields {
			s, err := toSchema(f.Schema, depth+1)
			if err != nil {
				return nil, fmt.Errorf("field %s: %w", f.Name, err)
			}
			b.Field(f.Name, s)
		}
	}
	b.Name(m.Name).Version(m.Version).Doc(m.Doc)
	if m.Optional {
		b.Optional()
	}
	for k, v := range m.Parameters {
		b.Parameter(k, v)
	}
	return b.BuildWithDefault(m.Default)
}

// Route is the message of a route.
func Route(a connectapi.AnnouncedRoute) *connectpb.Route {
	m := &connectpb.Route{
		Id: a.ID, Topic: a.Route.Topic, KeySchema: a.Key, ValueSchema: a.Value, ReadFrom: a.Route.ReadFrom,
		Raw: a.Route.Raw != nil, TopicConfig: a.Route.Raw,
	}
	if a.Route.Partition != connectapi.NoPartition {
		m.Partition = &a.Route.Partition
	}
	return m
}

// AddSchema enters an announced schema into the directory.
func AddSchema(d *connectapi.Directory, m *connectpb.Schema) error {
	s, err := ToSchema(m)
	if err != nil {
		return fmt.Errorf("schema %d: %w", m.GetId(), err)
	}
	return d.AddSchema(m.Id, s)
}

// AddRoute enters an announced route into the directory.
func AddRoute(d *connectapi.Directory, m *connectpb.Route) error {
	key, ok := d.Schema(m.KeySchema)
	if !ok {
		return fmt.Errorf("route %d (topic %s): key schema %d was never announced", m.Id, m.Topic, m.KeySchema)
	}
	value, ok := d.Schema(m.ValueSchema)
	if !ok {
		return fmt.Errorf("route %d (topic %s): value schema %d was never announced", m.Id, m.Topic, m.ValueSchema)
	}
	r := &connectapi.Route{
		Topic: m.Topic, Partition: connectapi.NoPartition, Key: key, Value: value, ReadFrom: m.ReadFrom,
	}
	if m.Partition != nil {
		r.Partition = *m.Partition
	}
	if m.Raw {
		r.Raw = m.TopicConfig
		if r.Raw == nil {
			r.Raw = map[string]string{}
		}
	}
	return d.AddRoute(m.Id, r)
}
