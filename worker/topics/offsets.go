package topics

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sort"
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

// ReadToEnd waits until the view holds all that is durable now: a task that starts calls it first, so that it sees what
// an earlier incarnation wrote.
func (o *Offsets) ReadToEnd(ctx context.Context) error { return o.tab.ReadToEnd(ctx) }

// Get lists a connector's positions, in a stable order.
func (o *Offsets) Get(connector string) []Offset {
	o.mu.Lock()
	defer o.mu.Unlock()
	canon := make([]string, 0, len(o.conns[connector]))
	for c := range o.conns[connector] {
		canon = append(canon, c)
	}
	sort.Strings(canon)
	out := make([]Offset, 0, len(canon))
	for _, c := range canon {
		out = append(out, o.conns[connector][c].Offset)
	}
	return out
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
	var key []json.RawMessage
	var connector string
	if err := json.Unmarshal(r.Key, &key); err != nil || len(key) != 2 || json.Unmarshal(key[0], &connector) != nil {
		o.log.Warn("ignoring an offset record with an unreadable key", "partition", r.Partition, "offset", r.Offset)
		return
	}
	canon, err := canonical(key[1])
	if err != nil {
		o.log.Warn("ignoring an offset record with an unreadable partition", "connector", connector, "error", err)
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if r.Value == nil {
		delete(o.conns[connector], canon)
		return
	}
	if o.conns[connector] == nil {
		o.conns[connector] = map[string]stored{}
	}
	o.conns[connector][canon] = stored{
		key:    bytes.Clone(r.Key),
		Offset: Offset{Partition: bytes.Clone(key[1]), Value: bytes.Clone(r.Value)},
	}
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
