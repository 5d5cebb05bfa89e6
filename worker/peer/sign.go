package peer

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // HMAC with it is still sound, and Java offers it
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"hash"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/penstockio/penstock/rest/api"
)

// The headers of a signed call.
const (
	SignatureHeader = "X-Connect-Authorization"
	AlgorithmHeader = "X-Connect-Request-Signature-Algorithm"
)

// algorithms are Java's names of MACs, each with its hash.
var algorithms = map[string]func() hash.Hash{
	"HmacSHA1": sha1.New, "HmacSHA224": sha256.New224, "HmacSHA256": sha256.New, "HmacSHA384": sha512.New384, "HmacSHA512": sha512.New,
}

// Algorithms names those that are known, sorted.
func Algorithms() []string { return slices.Sorted(maps.Keys(algorithms)) }

// Signing is how calls between workers are signed: Kafka Connect's inter.worker.* keys.
type Signing struct {
	KeyAlgorithm string // of new keys: how long they are if KeyBits is 0
	KeyBits      int
	KeyTTL       time.Duration // after which the leader makes another
	Algorithm    string        // of our signatures
	Accepted     []string      // of others'
}

// Default is Kafka Connect's.
var Default = Signing{KeyAlgorithm: "HmacSHA256", KeyTTL: time.Hour, Algorithm: "HmacSHA256", Accepted: []string{"HmacSHA256"}}

// Key is a session key. The leader makes one and writes it to the config topic, from where every worker reads it.
type Key struct {
	Secret    []byte
	Algorithm string
	Created   time.Time
}

// keyBytes is the length of keys.
func (s Signing) keyBytes() int {
	if s.KeyBits > 0 {
		return (s.KeyBits + 7) / 8
	}
	return algorithms[s.KeyAlgorithm]().Size()
}

// NewKey makes a key.
func (s Signing) NewKey(now time.Time) Key {
	secret := make([]byte, s.keyBytes())
	_, _ = rand.Read(secret) // never fails
	return Key{Secret: secret, Algorithm: s.KeyAlgorithm, Created: now}
}

// Expires tells when a key must be replaced; one that is of another kind than new ones is due at once.
func (s Signing) Expires(k Key) time.Time {
	if len(k.Secret) != s.keyBytes() || k.Algorithm != s.KeyAlgorithm {
		return time.Time{}
	}
	return k.Created.Add(s.KeyTTL)
}

func sign(algorithm string, k Key, body []byte) []byte {
	m := hmac.New(algorithms[algorithm], k.Secret)
	_, _ = m.Write(body) // never fails
	return m.Sum(nil)
}

// Sign adds the headers that prove who sent body.
func (s Signing) Sign(k Key, h http.Header, body []byte) {
	h.Set(SignatureHeader, base64.StdEncoding.EncodeToString(sign(s.Algorithm, k, body)))
	h.Set(AlgorithmHeader, s.Algorithm)
}

// Verify checks a call's signature; its error carries the status to answer. have tells whether a key has been read yet.
func (s Signing) Verify(k Key, have bool, h http.Header, body []byte) error {
	signature, algorithm := h.Get(SignatureHeader), h.Get(AlgorithmHeader)
	switch {
	case signature == "" || algorithm == "":
		return api.Errorf(http.StatusBadRequest, "This call is for workers of the group alone and must be signed")
	case !slices.Contains(s.Accepted, algorithm):
		return api.Errorf(http.StatusBadRequest, "This worker does not accept the signature algorithm %s, only %s", algorithm, strings.Join(s.Accepted, ", "))
	case !have:
		return api.Errorf(http.StatusServiceUnavailable, "This worker has not read the group's session key yet")
	}
	sum, err := base64.StdEncoding.DecodeString(signature)
	if err != nil || !hmac.Equal(sum, sign(algorithm, k, body)) {
		return api.Errorf(http.StatusForbidden, "The call's signature does not hold: it was made with another session key")
	}
	return nil
}
