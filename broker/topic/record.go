package topic

import (
	"fmt"
	"maps"
	"slices"

	"github.com/penstockio/penstock/broker/machine"
	"github.com/penstockio/penstock/broker/queue"
)

// ID is a topic's uuid, given at creation: a topic made again under the same name has another.
type ID [16]byte

func (id ID) String() string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[0:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// Range maps Count partitions from First on to as many queues from Queue on.
type Range struct {
	First int32
	Count int32
	Queue queue.ID
	Epoch int32 // leader epoch the range was made with
}

// Record is what the log says of a topic.
type Record struct {
	ID         ID
	Namespace  string // empty today
	Name       string
	Ranges     []Range
	ReadCount  int32 // partitions consumers see
	WriteCount int32 // partitions producers see
	Settings   map[string]string
	Created    int64 // Unix ms
	Deleted    bool

	unknown []byte // fields of a later version
}

// recordVersion is the machine version byte before every payload.
const recordVersion = 1

// Field numbers of the protobuf message Topic. They are for ever.
const (
	fieldID        = 1 // bytes
	fieldNamespace = 2 // string
	fieldName      = 3 // string
	fieldRange     = 4 // repeated message Range {first=1, count=2, queue=3, epoch=4}
	fieldRead      = 5 // int32
	fieldWrite     = 6 // int32
	fieldSetting   = 7 // repeated message Setting {name=1, value=2}, sorted by name
	fieldCreated   = 8 // int64
	fieldDeleted   = 9 // bool
)

// encode gives the payload of a topic frame: the version byte and the message.
func (r *Record) encode() []byte {
	b := []byte{recordVersion}
	b = machine.AppendBytes(b, fieldID, r.ID[:])
	b = machine.AppendString(b, fieldNamespace, r.Namespace)
	b = machine.AppendString(b, fieldName, r.Name)
	for _, g := range r.Ranges {
		var m []byte
		m = machine.AppendUint(m, 1, uint64(g.First))
		m = machine.AppendUint(m, 2, uint64(g.Count))
		m = machine.AppendUint(m, 3, uint64(g.Queue))
		m = machine.AppendUint(m, 4, uint64(g.Epoch))
		b = machine.AppendBytes(b, fieldRange, m)
	}
	b = machine.AppendUint(b, fieldRead, uint64(r.ReadCount))
	b = machine.AppendUint(b, fieldWrite, uint64(r.WriteCount))
	for _, k := range slices.Sorted(maps.Keys(r.Settings)) {
		m := machine.AppendBytes(nil, 1, []byte(k))
		m = machine.AppendBytes(m, 2, []byte(r.Settings[k]))
		b = machine.AppendBytes(b, fieldSetting, m)
	}
	b = machine.AppendUint(b, fieldCreated, uint64(r.Created))
	b = machine.AppendBool(b, fieldDeleted, r.Deleted)
	return append(b, r.unknown...) // I5
}

// decodeRecord reads a payload. What it returns shares no memory with the payload.
func decodeRecord(payload []byte) (*Record, error) {
	m, err := machine.Open(payload, recordVersion)
	if err != nil {
		return nil, fmt.Errorf("decoding a topic record: %w", err)
	}
	r := &Record{Settings: map[string]string{}}
	err = machine.Walk(m, func(f machine.Field) error {
		num, v, b := f.Number, f.Value, f.Bytes
		switch {
		case num == fieldID && len(b) == len(r.ID):
			copy(r.ID[:], b)
		case num == fieldNamespace:
			r.Namespace = string(b)
		case num == fieldName:
			r.Name = string(b)
		case num == fieldRange:
			g, err := decodeRange(b)
			r.Ranges = append(r.Ranges, g)
			return err
		case num == fieldRead:
			r.ReadCount = int32(v)
		case num == fieldWrite:
			r.WriteCount = int32(v)
		case num == fieldSetting:
			return decodeSetting(b, r.Settings)
		case num == fieldCreated:
			r.Created = int64(v)
		case num == fieldDeleted:
			r.Deleted = v != 0
		default:
			r.unknown = append(r.unknown, f.Raw...)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("decoding a topic record: %w", err)
	}
	if r.Name == "" || r.ID == (ID{}) {
		return nil, fmt.Errorf("decoding a topic record: no name or no id")
	}
	return r, nil
}

func decodeRange(b []byte) (g Range, err error) {
	err = machine.Walk(b, func(f machine.Field) error {
		switch v := f.Value; f.Number {
		case 1:
			g.First = int32(v)
		case 2:
			g.Count = int32(v)
		case 3:
			g.Queue = queue.ID(v)
		case 4:
			g.Epoch = int32(v)
		}
		return nil
	})
	if err == nil && (g.First < 0 || g.Count < 0) {
		err = fmt.Errorf("a range of %d partitions from %d", g.Count, g.First)
	}
	return g, err
}

func decodeSetting(b []byte, into map[string]string) error {
	var k, val string
	err := machine.Walk(b, func(f machine.Field) error {
		switch f.Number {
		case 1:
			k = string(f.Bytes)
		case 2:
			val = string(f.Bytes)
		}
		return nil
	})
	into[k] = val
	return err
}
