package kafka

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/penstockio/penstock/broker/buffer"
)

// firstGrowth is how much memory a frame's stated size alone may take; more comes with the bytes.
const firstGrowth = 1 << 20

// frames keeps the memory of handled requests for the next ones.
var frames = buffer.NewPool(16 << 20)

// readSize reads the four bytes before a frame.
func readSize(r *bufio.Reader, limit int32) (int, error) {
	var b [4]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return 0, err
	}
	n := int32(binary.BigEndian.Uint32(b[:]))
	if n < 8 || n > limit {
		return 0, fmt.Errorf("reading a request: its size is %d bytes, want 8 to %d: is the peer speaking the Kafka protocol without TLS?", n, limit)
	}
	return int(n), nil
}

// readBody reads a frame of a known size, growing as bytes come (I3).
func readBody(r *bufio.Reader, size int) ([]byte, error) {
	buf := frames.Take(min(size, firstGrowth))
	for len(buf) < size {
		if len(buf) == cap(buf) {
			buf = frames.Grow(buf, min(2*len(buf), size))
		}
		n, err := io.ReadFull(r, buf[len(buf):min(cap(buf), size)])
		buf = buf[:len(buf)+n]
		if err != nil {
			return nil, fmt.Errorf("reading a request: %d of %d bytes came: %w", len(buf), size, err)
		}
	}
	return buf, nil
}

// header is the part of a request before its body.
type header struct {
	key, version int16
	correlation  int32
	clientID     string
}

// decode reads a request. For an ApiVersions version above ours it returns a request of version 0 and tooNew (KIP-511).
func decode(frame []byte) (h header, k *apiKey, req kmsg.Request, tooNew bool, err error) {
	b := kbin.Reader{Src: frame}
	h = header{key: b.Int16(), version: b.Int16(), correlation: b.Int32()}
	if id := b.NullableString(); id != nil {
		h.clientID = *id
	}
	if !b.Ok() {
		return h, nil, nil, false, fmt.Errorf("reading a request: its header is cut short")
	}
	if k = lookup(h.key); k == nil {
		return h, nil, nil, false, fmt.Errorf("reading a request: key %d is not served", h.key)
	}
	if h.version < k.min || h.version > k.max {
		if h.key == apiVersionsKey {
			h.version = 0
			return h, k, &kmsg.ApiVersionsRequest{}, true, nil
		}
		return h, nil, nil, false, fmt.Errorf("reading a request: %s version %d is not served, only %d to %d", kmsg.NameForKey(h.key), h.version, k.min, k.max)
	}
	req = kmsg.RequestForKey(h.key)
	req.SetVersion(h.version)
	if req.IsFlexible() {
		kmsg.SkipTags(&b)
		if !b.Ok() {
			return h, nil, nil, false, fmt.Errorf("reading a request: the header of %s is cut short", kmsg.NameForKey(h.key))
		}
	}
	if err := req.ReadFrom(b.Src); err != nil {
		return h, nil, nil, false, fmt.Errorf("reading a request: %s version %d: %w", kmsg.NameForKey(h.key), h.version, err)
	}
	return h, k, req, false, nil
}

// appendResponse encodes an answer with size and header.
func appendResponse(dst []byte, correlation int32, resp kmsg.Response) []byte {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = binary.BigEndian.AppendUint32(dst, uint32(correlation))
	if resp.IsFlexible() && resp.Key() != apiVersionsKey { // ApiVersions never has header tags: a client that doesn't know us yet must read it
		dst = append(dst, 0)
	}
	dst = resp.AppendTo(dst)
	binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}
