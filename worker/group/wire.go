package group

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/penstockio/penstock/worker/assign"
)

// The encodings of ConnectProtocol and IncrementalCooperativeConnectProtocol: big endian, non-compact Kafka types.
//
//	metadata v1, v2:   int16 version, string url, int64 config offset, nullable bytes assignment
//	assignment v1, v2: int16 version, int16 error, string leader, string leader url, int64 config offset,
//	                   array of {string connector, array of int32 tasks}, nullable array of the same revoked, int32 delay ms
//	                   [, int64 stable offset]
//
// The stable offset is ours, and behind what Java's decoder reads: all members had stopped what was not to run at that config
// offset when they joined. Without it that is taken to be the config offset.
//
// Task -1 is the connector itself. The assignment inside the metadata is all that a member runs.
const (
	versionCompatible int16 = 1
	versionSessioned  int16 = 2
)

// Error codes of an assignment.
const (
	noError        int16 = 0
	configMismatch int16 = 1 // the leader could not read as far as a member has: read to the end and rejoin
)

type metadata struct {
	URL          string
	ConfigOffset int64
	Current      []assign.Unit
}

type assignment struct {
	Error        int16
	Leader       string
	LeaderURL    string
	ConfigOffset int64
	Assigned     []assign.Unit
	Revoked      []assign.Unit
	DelayMs      int32
	Stable       int64
}

func (m metadata) encode(version int16) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(version))
	b = appendString(b, m.URL)
	b = binary.BigEndian.AppendUint64(b, uint64(m.ConfigOffset))
	if m.Current == nil {
		return binary.BigEndian.AppendUint32(b, 0xffffffff)
	}
	cur := assignment{ConfigOffset: m.ConfigOffset, LeaderURL: "", Assigned: m.Current}.encode(version)
	b = binary.BigEndian.AppendUint32(b, uint32(len(cur)))
	return append(b, cur...)
}

func (a assignment) encode(version int16) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(version))
	b = binary.BigEndian.AppendUint16(b, uint16(a.Error))
	b = appendString(b, a.Leader)
	b = appendString(b, a.LeaderURL)
	b = binary.BigEndian.AppendUint64(b, uint64(a.ConfigOffset))
	b = appendUnits(b, a.Assigned)
	if a.Revoked == nil {
		b = binary.BigEndian.AppendUint32(b, 0xffffffff)
	} else {
		b = appendUnits(b, a.Revoked)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(a.DelayMs))
	if a.Stable > 0 {
		b = binary.BigEndian.AppendUint64(b, uint64(a.Stable))
	}
	return b
}

func appendString(b []byte, s string) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(len(s)))
	return append(b, s...)
}

// appendUnits groups neighbours of one connector. It keeps the order, by which a leader sees what came last; a connector may
// so be named more than once, which Java's decoder takes, too.
func appendUnits(b []byte, us []assign.Unit) []byte {
	at := len(b)
	b = binary.BigEndian.AppendUint32(b, 0)
	runs := 0
	for i := 0; i < len(us); runs++ {
		n := i + 1
		for n < len(us) && us[n].Connector == us[i].Connector {
			n++
		}
		b = appendString(b, us[i].Connector)
		b = binary.BigEndian.AppendUint32(b, uint32(n-i))
		for ; i < n; i++ {
			b = binary.BigEndian.AppendUint32(b, uint32(us[i].Task))
		}
	}
	binary.BigEndian.PutUint32(b[at:], uint32(runs))
	return b
}

var errShort = errors.New("it ends too early")

type reader struct {
	b   []byte
	err error
}

func (r *reader) take(n int) []byte {
	if r.err != nil || n < 0 || n > len(r.b) {
		if r.err == nil {
			r.err = errShort
		}
		return make([]byte, max(0, min(n, 8)))
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) int16() int16 { return int16(binary.BigEndian.Uint16(r.take(2))) }
func (r *reader) int32() int32 { return int32(binary.BigEndian.Uint32(r.take(4))) }
func (r *reader) int64() int64 { return int64(binary.BigEndian.Uint64(r.take(8))) }

func (r *reader) string() string {
	n := int(r.int16())
	if n < 0 {
		return ""
	}
	if n > len(r.b) {
		r.err = errShort
		return ""
	}
	return string(r.take(n))
}

func (r *reader) units() []assign.Unit {
	n := int(r.int32())
	if n < 0 {
		return nil
	}
	out := []assign.Unit{}
	for range n {
		c := r.string()
		k := int(r.int32())
		for range k {
			t := r.int32()
			if r.err != nil {
				return out // a count is never trusted beyond the bytes
			}
			out = append(out, assign.Unit{Connector: c, Task: t})
		}
		if r.err != nil {
			return out
		}
	}
	return out
}

func decodeMetadata(b []byte) (metadata, error) {
	r := &reader{b: b}
	version := r.int16()
	m := metadata{URL: r.string(), ConfigOffset: r.int64()}
	if version >= versionCompatible {
		if n := int(r.int32()); n >= 0 && r.err == nil {
			cur := r.take(n)
			if r.err == nil && n > 0 {
				a, err := decodeAssignment(cur)
				if err != nil {
					return m, err
				}
				m.Current = a.Assigned
			}
		}
	}
	if r.err != nil {
		return m, fmt.Errorf("decoding a member's metadata of %d bytes: %w", len(b), r.err)
	}
	return m, nil
}

func decodeAssignment(b []byte) (assignment, error) {
	if len(b) == 0 {
		return assignment{}, nil
	}
	r := &reader{b: b}
	version := r.int16()
	a := assignment{Error: r.int16(), Leader: r.string(), LeaderURL: r.string(), ConfigOffset: r.int64(), Assigned: r.units()}
	if version >= versionCompatible {
		a.Revoked = r.units()
		a.DelayMs = r.int32()
	}
	if a.Stable = a.ConfigOffset; len(r.b) >= 8 {
		a.Stable = r.int64()
	}
	if r.err != nil {
		return a, fmt.Errorf("decoding an assignment of %d bytes: %w", len(b), r.err)
	}
	return a, nil
}
