package elasticsearch

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/penstockio/penstock/connect-api"
)

// transcoder turns records into actions and values into JSON, and remembers the schemas it was given. It is for one goroutine.
type transcoder struct {
	set   *settings
	last  *connectapi.Schema
	ready *node
	nodes map[uint64]*node

	topic, name string // the last topic, and its index
}

// maxSchemas bounds what is remembered: past it all is forgotten.
const maxSchemas = 10_000

func newTranscoder(set *settings) *transcoder {
	return &transcoder{set: set, nodes: map[uint64]*node{}}
}

// index is settings.index with the last answer remembered.
func (t *transcoder) index(topic string) (string, error) {
	if topic == t.topic && topic != "" {
		return t.name, nil
	}
	name, err := t.set.index(topic)
	if err == nil {
		t.topic, t.name = strings.Clone(topic), name
	}
	return name, err
}

func (t *transcoder) node(s *connectapi.Schema) (*node, error) {
	if s == t.last {
		return t.ready, nil
	}
	n, ok := t.nodes[s.Fingerprint()]
	if !ok {
		var err error
		if n, err = compile(s, t.set); err != nil {
			return nil, err
		}
		if len(t.nodes) >= maxSchemas {
			clear(t.nodes)
		}
		t.nodes[s.Fingerprint()] = n
	}
	t.last, t.ready = s, n
	return n, nil
}

// bytesWriter compacts JSON behind bytes that are there already.
type bytesWriter struct{ dst []byte }

func (w bytesWriter) compact(text []byte) ([]byte, error) {
	b := bytes.NewBuffer(w.dst)
	err := json.Compact(b, text)
	return b.Bytes(), err
}
