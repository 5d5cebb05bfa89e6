package connectapi

import (
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
)

// Route is what many records have in common. Make one for each table or topic, keep it, and do not change it after its
// first use: it is announced once a stream.
type Route struct {
	Topic      string
	Partition  int32 // NoPartition: by key
	Key, Value *Schema
	// Raw, if not nil, sends rows past transforms and converters: they are produced as they are into the topic, which is
	// made with these settings if it is not there; durable before any later row (schema history, heartbeats).
	Raw map[string]string
	// ReadFrom is, for a sink, the topic the record was consumed from if a transform renamed it; otherwise empty.
	ReadFrom string
}

// NoPartition leaves the choice of a topic partition to the producer.
const NoPartition int32 = -1

// NewRoute returns a route whose partition is chosen by key.
func NewRoute(topic string, key, value *Schema) *Route {
	return &Route{Topic: topic, Partition: NoPartition, Key: key, Value: value}
}

// Same says whether both routes mean the same.
func (r *Route) Same(o *Route) bool {
	return r == o || r.Topic == o.Topic && r.Partition == o.Partition && r.ReadFrom == o.ReadFrom && r.Key.Equal(o.Key) &&
		r.Value.Equal(o.Value) && (r.Raw == nil) == (o.Raw == nil) && maps.Equal(r.Raw, o.Raw)
}

// routeKey finds equal routes; Raw is compared afterwards.
type routeKey struct {
	topic, from string
	partition   int32
	key, value  uint64
}

// Catalog gives routes and schemas the ids by which a stream's rows name them, at the end that sends. It is for the SDK
// and the worker. Not safe for use by several goroutines.
type Catalog struct {
	byPointer map[*Route]uint32
	byContent map[routeKey][]*Route
	routeIDs  map[*Route]uint32 // of those in byContent
	schemas   map[uint64][]schemaID
	pointers  map[*Schema]uint32
	lastRoute *Route
	lastID    uint32

	newSchemas []AnnouncedSchema
	newRoutes  []AnnouncedRoute
	nextSchema uint32
	nextRoute  uint32
}

type schemaID struct {
	schema *Schema
	id     uint32
}

// AnnouncedSchema is a schema and its id in a stream.
type AnnouncedSchema struct {
	ID     uint32
	Schema *Schema
}

// AnnouncedRoute is a route, its id and those of its schemas in a stream; 0: no schema.
type AnnouncedRoute struct {
	ID         uint32
	Route      *Route
	Key, Value uint32
}

// NewCatalog returns an empty catalog.
func NewCatalog() *Catalog {
	return &Catalog{
		byPointer: map[*Route]uint32{}, byContent: map[routeKey][]*Route{}, routeIDs: map[*Route]uint32{},
		schemas: map[uint64][]schemaID{}, pointers: map[*Schema]uint32{},
	}
}

// maxPointers bounds the caches by pointer: a source that makes a route for every record must not make them grow.
const maxPointers = 1 << 14

// Route returns the route's id, announcing it and its schemas if they are new.
func (c *Catalog) Route(r *Route) uint32 {
	if r == c.lastRoute {
		return c.lastID
	}
	id, ok := c.byPointer[r]
	if !ok {
		id = c.routeByContent(r)
		if len(c.byPointer) >= maxPointers {
			clear(c.byPointer)
		}
		c.byPointer[r] = id
	}
	c.lastRoute, c.lastID = r, id
	return id
}

func (c *Catalog) routeByContent(r *Route) uint32 {
	k := routeKey{r.Topic, r.ReadFrom, r.Partition, r.Key.Fingerprint(), r.Value.Fingerprint()}
	for _, o := range c.byContent[k] {
		if r.Same(o) {
			return c.routeIDs[o]
		}
	}
	key, value := c.Schema(r.Key), c.Schema(r.Value)
	c.nextRoute++
	own := *r
	c.byContent[k] = append(c.byContent[k], &own)
	c.routeIDs[&own] = c.nextRoute
	c.newRoutes = append(c.newRoutes, AnnouncedRoute{c.nextRoute, &own, key, value})
	return c.nextRoute
}

// Schema returns the schema's id, announcing it if it is new; 0 for nil.
func (c *Catalog) Schema(s *Schema) uint32 {
	if s == nil {
		return 0
	}
	if id, ok := c.pointers[s]; ok {
		return id
	}
	if len(c.pointers) >= maxPointers {
		clear(c.pointers)
	}
	for _, o := range c.schemas[s.fingerprint] {
		if s.Equal(o.schema) {
			c.pointers[s] = o.id
			return o.id
		}
	}
	c.nextSchema++
	c.schemas[s.fingerprint] = append(c.schemas[s.fingerprint], schemaID{s, c.nextSchema})
	c.pointers[s] = c.nextSchema
	c.newSchemas = append(c.newSchemas, AnnouncedSchema{c.nextSchema, s})
	return c.nextSchema
}

// Announce returns what is new since the last call: schemas, to be sent first, and routes.
func (c *Catalog) Announce() ([]AnnouncedSchema, []AnnouncedRoute) {
	s, r := c.newSchemas, c.newRoutes
	c.newSchemas, c.newRoutes = nil, nil
	return s, r
}

// Directory finds routes and schemas by id, at the end that receives. One goroutine may add while others look up.
type Directory struct {
	routes  table[*Route]
	schemas table[*Schema]
}

// maxID bounds the ids of a stream, and so the memory a peer can ask for.
const maxID = 1 << 22

// table is a slice that grows under its readers.
type table[T comparable] struct{ p atomic.Pointer[[]T] }

func (t *table[T]) get(id uint32) (v T) {
	if s := t.p.Load(); s != nil && int(id) < len(*s) {
		v = (*s)[id]
	}
	return v
}

func (t *table[T]) set(id uint32, v T) error {
	if id == 0 || id > maxID {
		return fmt.Errorf("%d is no id: they go from 1 to %d", id, maxID)
	}
	var old []T
	if s := t.p.Load(); s != nil {
		old = *s
	}
	var grown []T
	if int(id) >= len(old) { // the usual case: nobody looks beyond the length they loaded
		var none T
		for grown = old; len(grown) < int(id); {
			grown = append(grown, none)
		}
		grown = append(grown, v)
	} else {
		grown = slices.Clone(old)
		grown[id] = v
	}
	t.p.Store(&grown)
	return nil
}

// NewDirectory returns an empty directory.
func NewDirectory() *Directory { return &Directory{} }

// AddSchema enters a schema that was announced.
func (d *Directory) AddSchema(id uint32, s *Schema) error { return d.schemas.set(id, s) }

// AddRoute enters a route that was announced.
func (d *Directory) AddRoute(id uint32, r *Route) error { return d.routes.set(id, r) }

// Route returns the route with the id, or nil.
func (d *Directory) Route(id uint32) *Route { return d.routes.get(id) }

// Schema returns the schema with the id; false if it was never announced. Id 0 is no schema.
func (d *Directory) Schema(id uint32) (*Schema, bool) {
	if id == 0 {
		return nil, true
	}
	s := d.schemas.get(id)
	return s, s != nil
}
