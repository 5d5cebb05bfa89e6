package topics

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/penstockio/penstock/runtime/kafka"
	"github.com/penstockio/penstock/runtime/kafka/table"
)

// Offset is one position of a source connector: two flat JSON objects. A nil Value forgets the partition.
type Offset struct {
	Partition json.RawMessage
	Value     json.RawMessage
}

// Offsets is the offset topic and its view. Safe for concurrent use.
type Offsets struct {
	tab *table.Table
	log *slog.Logger

	mu    sync.Mutex
	conns map[string]map[string]stored // by connector, then by canonical partition
}

type stored struct {
	key []byte // as first written: I3
	at  int64  // offset of the record
	Offset
}

// OpenOffsets opens the offset topic and reads it to its end.
func OpenOffsets(ctx context.Context, clients *kafka.Clients, t kafka.TopicSpec, log *slog.Logger) (*Offsets, error) {
	o := &Offsets{log: log, conns: map[string]map[string]stored{}}
	tab, err := table.Open(ctx, clients, table.Spec{Topic: t, Apply: o.apply}, log)
	if err != nil {
		return nil, err
	}
	o.tab = tab
	return o, nil
}

// Close stops following the topic.
func (o *Offsets) Close() { o.tab.Close() }

// Committed lists a connector's positions, in a stable order, with all that is committed now: also what stands behind a
// transaction that another task's writer has left open. A task that starts, and has fenced its earlier incarnation, so sees
// all that one wrote.
func (o *Offsets) Committed(ctx context.Context, connector string) ([]Offset, error) {
	if err := o.tab.ReadToEnd(ctx); err != nil {
		return nil, err
	}
	tail, err := o.tab.Tail(ctx)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	now := maps.Clone(o.conns[connector])
	o.mu.Unlock()
	if now == nil {
		now = map[string]stored{}
	}
	for _, r := range tail {
		name, canon, s, err := decodeOffset(r)
		if err == nil && name == connector && s.at >= now[canon].at {
			now[canon] = s
		}
	}
	out := make([]Offset, 0, len(now))
	for _, canon := range slices.Sorted(maps.Keys(now)) {
		if now[canon].Value != nil {
			out = append(out, now[canon].Offset)
		}
	}
	return out, nil
}

// Records turns positions into records of the offset topic. Each task writes its own, with a producer that later incarnations
// of the task fence.
func (o *Offsets) Records(connector string, offsets []Offset) ([]*kgo.Record, error) {
	out := make([]*kgo.Record, 0, len(offsets))
	for _, f := range offsets {
		key, err := o.key(connector, f.Partition)
		if err != nil {
			return nil, fmt.Errorf("writing an offset of connector %s: %w", connector, err)
		}
		out = append(out, &kgo.Record{Topic: o.tab.Topic(), Partition: -1, Key: key, Value: f.Value}) // by its key
	}
	return out, nil
}

// key reuses the bytes of a partition already stored (I3).
func (o *Offsets) key(connector string, partition json.RawMessage) ([]byte, error) {
	canon, err := canonical(partition)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if s, ok := o.conns[connector][canon]; ok {
		return s.key, nil
	}
	name := encodeJSON(connector)
	return bytes.Join([][]byte{[]byte("["), name, []byte(","), compact(partition), []byte("]")}, nil), nil
}

func (o *Offsets) apply(r *kgo.Record) {
	connector, canon, s, err := decodeOffset(r)
	if err != nil {
		o.log.Warn("ignoring an offset record", "partition", r.Partition, "offset", r.Offset, "error", err)
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.conns[connector] == nil {
		o.conns[connector] = map[string]stored{}
	}
	o.conns[connector][canon] = s // a tombstone too: it is newer than what Tail may give
}

func decodeOffset(r *kgo.Record) (connector, canon string, s stored, err error) {
	var key []json.RawMessage
	if err := json.Unmarshal(r.Key, &key); err != nil || len(key) != 2 || json.Unmarshal(key[0], &connector) != nil {
		return "", "", s, fmt.Errorf("its key %.200q is not [connector, partition]", r.Key)
	}
	if canon, err = canonical(key[1]); err != nil {
		return "", "", s, fmt.Errorf("connector %s: %w", connector, err)
	}
	s = stored{key: bytes.Clone(r.Key), at: r.Offset, Offset: Offset{Partition: bytes.Clone(key[1]), Value: bytes.Clone(r.Value)}}
	return connector, canon, s, nil
}

// canonical writes a flat object with sorted members and exact numbers, to compare partitions by meaning.
func canonical(partition []byte) (string, error) {
	d := json.NewDecoder(bytes.NewReader(partition))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		return "", fmt.Errorf("a source partition must be a flat JSON object: %w", err)
	}
	return string(encodeJSON(m)), nil // encoding/json sorts map keys
}

func compact(b []byte) []byte {
	var out bytes.Buffer
	if json.Compact(&out, b) != nil {
		return b
	}
	return out.Bytes()
}
