package sink

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	connectapi "github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/connect-api/host"
	"github.com/penstockio/penstock/runtime/policy"
	"github.com/penstockio/penstock/runtime/transform"
)

// convert adds one record to the batch, or hands it to the error policy. The record on its way is the task's own: transforms take
// it by pointer, and one made here would be on the heap.
func (t *Task) convert(batch *host.SinkBatch, r *kgo.Record) error {
	rec := &t.record // field by field: a literal is built aside and copied, which is the dearest thing here
	rec.Topic, rec.Partition, rec.Millis, rec.Headers = r.Topic, r.Partition, connectapi.NoTime, rec.Headers[:0]
	rec.Origin.Topic, rec.Origin.Partition, rec.Origin.Offset = r.Topic, r.Partition, r.Offset
	if !r.Timestamp.IsZero() {
		rec.Millis = r.Timestamp.UnixMilli()
	}
	var err error
	if rec.Key, err = t.Key.Decode(r.Topic, r.Key); err != nil {
		return t.rejected(policy.KeyConverter, r, err)
	}
	if rec.Value, err = t.Value.Decode(r.Topic, r.Value); err != nil {
		return t.rejected(policy.ValueConverter, r, err)
	}
	for _, h := range r.Headers {
		rec.Headers = append(rec.Headers, connectapi.Header{Name: h.Key, Value: t.Header.DecodeHeader(h.Value)})
	}
	keep, err := t.Chain.Apply(rec)
	if err != nil {
		return t.rejected(policy.Transformation, r, err)
	}
	if !keep {
		return nil
	}
	err = batch.Append(t.route(rec), rec.Millis, r.Offset, rec.Key.Encoded(), rec.Value.Encoded(), rec.Headers...)
	if err != nil {
		return t.rejected(policy.TaskPut, r, err)
	}
	return nil
}

func (t *Task) rejected(stage policy.Stage, r *kgo.Record, err error) error {
	at := connectapi.Origin{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}
	if t.DeadLetter != nil {
		if dlq := t.DeadLetter.Write(t.work, r, stage, t.Connector, t.Task, err); dlq != nil {
			return dlq
		}
	}
	return t.Policy.Failed(stage, at, err)
}

// route gives the shared route of records with the same topic, partition and schemas.
func (t *Task) route(r *transform.Record) *connectapi.Route {
	k := routeKey{topic: r.Topic, partition: r.Origin.Partition, key: r.Key.Schema(), value: r.Value.Schema()}
	if r.Topic != r.Origin.Topic {
		k.from = r.Origin.Topic
	}
	if k == t.lastKey && t.lastRoute != nil {
		return t.lastRoute
	}
	route, ok := t.routes[k]
	if !ok {
		k.topic, k.from = strings.Clone(k.topic), strings.Clone(k.from)
		route = &connectapi.Route{Topic: k.topic, Partition: k.partition, Key: k.key, Value: k.value, ReadFrom: k.from}
		if len(t.routes) >= 1<<14 {
			clear(t.routes)
		}
		t.routes[k] = route
	}
	t.lastKey, t.lastRoute = k, route
	return route
}
