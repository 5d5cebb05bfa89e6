package mysql

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"net/netip"

	connectapi "github.com/penstockio/penstock/connect-api"
)

// putNative writes MariaDB's UUID and INET types in the server's text form; the log has their bytes, zeros at the end cut.
func (c *column) putNative(d []byte, v any, clean bool) ([]byte, bool, error) {
	b := toBytes(v)
	if clean {
		return connectapi.AppendBytes(d, b), false, nil
	}
	size := 16
	if c.Type == "inet4" {
		size = 4
	}
	if len(b) > size {
		return d, false, fmt.Errorf("%d bytes for a %s", len(b), c.Type)
	}
	full := make([]byte, size)
	copy(full, b)
	switch c.Type {
	case "uuid":
		h := hex.EncodeToString(full)
		return connectapi.AppendString(d, h[:8]+"-"+h[8:12]+"-"+h[12:16]+"-"+h[16:20]+"-"+h[20:]), false, nil
	case "inet4":
		return connectapi.AppendString(d, netip.AddrFrom4([4]byte(full)).String()), false, nil
	}
	return connectapi.AppendString(d, netip.AddrFrom16([16]byte(full)).String()), false, nil
}

// putGeometry splits the stored form: 4 bytes SRID, little-endian, then WKB.
func putGeometry(d []byte, v any, _ bool) ([]byte, bool, error) {
	b := toBytes(v)
	if len(b) < 5 {
		return d, false, fmt.Errorf("a geometry of %d bytes", len(b))
	}
	return appendSRID(connectapi.AppendBytes(d, b[4:]), b), false, nil
}

func putPoint(d []byte, v any, _ bool) ([]byte, bool, error) {
	b := toBytes(v)
	if len(b) != 25 {
		return d, false, fmt.Errorf("a point of %d bytes, not 25", len(b))
	}
	var order binary.ByteOrder = binary.LittleEndian
	if b[4] == 0 {
		order = binary.BigEndian
	}
	d = connectapi.AppendFloat64(d, math.Float64frombits(order.Uint64(b[9:])))
	d = connectapi.AppendFloat64(d, math.Float64frombits(order.Uint64(b[17:])))
	d = connectapi.AppendBytes(connectapi.AppendNotNull(d), b[4:])
	return appendSRID(d, b), false, nil
}

func appendSRID(d, b []byte) []byte {
	if srid := binary.LittleEndian.Uint32(b); srid != 0 {
		return connectapi.AppendInt(connectapi.AppendNotNull(d), int64(srid))
	}
	return connectapi.AppendNull(d)
}
