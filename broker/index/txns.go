package index

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Aborted is one aborted transaction of a queue; its key holds the offset of its marker.
type Aborted struct {
	Producer int64
	First    int64 // offset of its first record
	Last     int64 // offset of its marker
	Stable   int64 // the last stable offset right after the marker: no later entry concerns a read that ends below
}

// AppendAborted encodes an aborted transaction's value.
func AppendAborted(b []byte, a *Aborted) []byte {
	b = append(b, formV1)
	b = binary.AppendUvarint(b, uint64(a.Producer))
	b = binary.AppendUvarint(b, uint64(a.First))
	b = binary.AppendUvarint(b, uint64(a.Last))
	return binary.AppendUvarint(b, uint64(a.Stable))
}

// DecodeAborted is the reverse.
func DecodeAborted(v []byte) (Aborted, error) {
	d := decoder{b: v}
	if f := d.byte(); f != formV1 {
		return Aborted{}, fmt.Errorf("decoding an aborted transaction: form %d is not known", f)
	}
	a := Aborted{Producer: int64(d.uvarint()), First: int64(d.uvarint()), Last: int64(d.uvarint()), Stable: int64(d.uvarint())}
	if d.err == nil && (a.Producer < 0 || a.First < 0 || a.Last < a.First || a.Stable < 0) {
		d.err = errors.New("its values make no sense")
	}
	return a, d.end("an aborted transaction")
}

// AppendOpen encodes an open transaction's value: its producer.
func AppendOpen(b []byte, producer int64) []byte {
	return binary.AppendUvarint(append(b, formV1), uint64(producer))
}

// DecodeOpen is the reverse.
func DecodeOpen(v []byte) (producer int64, err error) {
	d := decoder{b: v}
	if f := d.byte(); f != formV1 {
		return 0, fmt.Errorf("decoding an open transaction: form %d is not known", f)
	}
	producer = int64(d.uvarint())
	if d.err == nil && producer < 0 {
		d.err = errors.New("its producer makes no sense")
	}
	return producer, d.end("an open transaction")
}
