package transform

import (
	connectapi "github.com/penstockio/penstock/connect-api"
)

// Record is a record on its way between a connector and a topic.
type Record struct {
	Topic     string
	Partition int32 // connectapi.NoPartition: by key
	Millis    int64 // since 1970; connectapi.NoTime: none
	Key       connectapi.Value
	Value     connectapi.Value
	Headers   []connectapi.Header
	Origin    connectapi.Origin // sinks: where it was consumed
}

// Header gives the last header of a name.
func (r *Record) Header(name string) (connectapi.Value, bool) {
	for i := len(r.Headers) - 1; i >= 0; i-- {
		if r.Headers[i].Name == name {
			return r.Headers[i].Value, true
		}
	}
	return connectapi.Value{}, false
}

// Transform changes a record; keep false drops it.
type Transform interface {
	Apply(r *Record) (keep bool, err error)
}

// Predicate decides whether a transform applies.
type Predicate interface {
	Test(r *Record) bool
}
