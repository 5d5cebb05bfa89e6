package peer

import (
	"encoding/base64"
	"net/http"
	"testing"
	"time"
)

func TestEveryAlgorithmSigns(t *testing.T) {
	now := time.Now()
	for _, a := range Algorithms() {
		s := Signing{KeyAlgorithm: a, KeyTTL: time.Minute, Algorithm: a, Accepted: []string{a}}
		k, h := s.NewKey(now), http.Header{}
		s.Sign(k, h, []byte("body"))
		if err := s.Verify(k, true, h, []byte("body")); err != nil {
			t.Errorf("%s: %v", a, err)
		}
		for what, err := range map[string]error{
			"another body": s.Verify(k, true, h, []byte("bodY")), "another key": s.Verify(s.NewKey(now), true, h, []byte("body")),
			"not accepted": Signing{Accepted: []string{"none"}}.Verify(k, true, h, []byte("body")),
		} {
			if err == nil {
				t.Errorf("%s, %s: accepted", a, what)
			}
		}
	}
}

// TestSignatureGolden holds a signature as Java's Mac of that name makes it.
func TestSignatureGolden(t *testing.T) {
	h := http.Header{}
	Default.Sign(Key{Secret: []byte("key")}, h, []byte("The quick brown fox jumps over the lazy dog"))
	if got := h.Get(SignatureHeader); got != "97yD9DBThCSxMpjmqm+xQ+9NWaFJRhdZl0edvC0aPNg=" {
		t.Error(got)
	}
}

func TestKeysExpire(t *testing.T) {
	now := time.Now()
	s := Default
	k := s.NewKey(now)
	if !s.Expires(k).Equal(now.Add(time.Hour)) || len(k.Secret) != 32 {
		t.Errorf("%d bytes until %v", len(k.Secret), s.Expires(k))
	}
	longer, other := s, s
	longer.KeyBits, other.KeyAlgorithm = 512, "HmacSHA512"
	for _, s := range []Signing{longer, other} {
		if !s.Expires(k).IsZero() || !s.Expires(Key{}).IsZero() || len(s.NewKey(now).Secret) != 64 {
			t.Errorf("%+v: a key of another kind is kept: %s", s, base64.StdEncoding.EncodeToString(k.Secret))
		}
	}
}
