package peer

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"time"

	"github.com/penstockio/penstock/rest/api"
)

// The headers of a signed call.
const (
	SignatureHeader = "X-Connect-Authorization"
	AlgorithmHeader = "X-Connect-Request-Signature-Algorithm"
)

// Algorithm is the one that is used: Java's name of HMAC with SHA-256.
const Algorithm = "HmacSHA256"

// Key is a session key. The leader makes one and writes it to the config topic, from where every worker reads it.
type Key struct {
	Secret    []byte
	Algorithm string
	Created   time.Time
}

// NewKey makes a key.
func NewKey(now time.Time) Key {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	return Key{Secret: secret, Algorithm: Algorithm, Created: now}
}

func (k Key) sign(body []byte) []byte {
	m := hmac.New(sha256.New, k.Secret)
	_, _ = m.Write(body) // never fails
	return m.Sum(nil)
}

// Sign adds the headers that prove who sent body.
func (k Key) Sign(h http.Header, body []byte) {
	h.Set(SignatureHeader, base64.StdEncoding.EncodeToString(k.sign(body)))
	h.Set(AlgorithmHeader, Algorithm)
}

// Verify checks a call's signature; its error carries the status to answer. have tells whether a key has been read yet.
func Verify(k Key, have bool, h http.Header, body []byte) error {
	signature := h.Get(SignatureHeader)
	switch algorithm := h.Get(AlgorithmHeader); {
	case signature == "" || algorithm == "":
		return api.Errorf(http.StatusBadRequest, "This call is for workers of the group alone and must be signed")
	case algorithm != Algorithm:
		return api.Errorf(http.StatusBadRequest, "This worker does not accept the signature algorithm %s, only %s", algorithm, Algorithm)
	case !have:
		return api.Errorf(http.StatusServiceUnavailable, "This worker has not read the group's session key yet")
	}
	sum, err := base64.StdEncoding.DecodeString(signature)
	if err != nil || !hmac.Equal(sum, k.sign(body)) {
		return api.Errorf(http.StatusForbidden, "The call's signature does not hold: it was made with another session key")
	}
	return nil
}
