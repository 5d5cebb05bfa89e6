package topics

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"github.com/penstockio/penstock/runtime/kafka/table"
	"github.com/penstockio/penstock/worker/peer"
)

const sessionKey = "session-key"

// sessionKeyRecord is the value of the record of that key (KIP-507).
type sessionKeyRecord struct {
	Key       string `json:"key"` // base64
	Algorithm string `json:"algorithm"`
	Created   int64  `json:"creation-timestamp"` // Unix ms
}

// SessionKey gives the key by which workers of the group sign calls to each other, if one has been read.
func (c *Config) SessionKey() (peer.Key, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session, c.session.Secret != nil
}

// PutSessionKey writes a key.
func (c *Config) PutSessionKey(ctx context.Context, k peer.Key) error {
	v := encodeJSON(sessionKeyRecord{Key: base64.StdEncoding.EncodeToString(k.Secret), Algorithm: k.Algorithm, Created: k.Created.UnixMilli()})
	return c.lead(ctx, table.Record{Key: []byte(sessionKey), Value: v})
}

func (c *Config) applySessionKey(value []byte) error {
	var r sessionKeyRecord
	if err := json.Unmarshal(value, &r); err != nil {
		return err
	}
	secret, err := base64.StdEncoding.DecodeString(r.Key)
	if err != nil {
		return err
	}
	if len(secret) == 0 {
		return fmt.Errorf("it holds no key")
	}
	c.session = peer.Key{Secret: secret, Algorithm: r.Algorithm, Created: time.UnixMilli(r.Created)}
	return nil
}
