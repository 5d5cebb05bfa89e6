package store

import "testing"

func FuzzFields(f *testing.F) {
	b := appendField([]byte{recordVersion}, fieldOp, opSet)
	f.Add(appendField(b, fieldRetentionMs, 7))
	f.Add([]byte{recordVersion, 0x1a, 2, 'h', 'i'}) // a field of a later version
	f.Fuzz(func(t *testing.T, p []byte) {
		if m, err := fields(p); err == nil && len(p) == 1 && len(m) > 0 {
			t.Fatal(m)
		}
	})
}

func TestLaterFieldsArePassedOver(t *testing.T) {
	b := append(appendField([]byte{2}, fieldOp, opSet), 0x7a, 2, 'h', 'i') // field 15, bytes
	m, err := fields(appendField(b, fieldAppendTime, 1))
	if err != nil || m[fieldOp] != opSet || m[fieldAppendTime] != 1 {
		t.Fatal(m, err)
	}
	for _, bad := range [][]byte{nil, {0}, {1, 0x08}, {1, 0x7a, 9, 'x'}} {
		if _, err := fields(bad); err == nil {
			t.Errorf("%x was accepted", bad)
		}
	}
}
