package elasticsearch

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstockio/penstock/connect-api"
)

func TestTLS(t *testing.T) {
	f := newFake(t, nil)
	server := httptest.NewTLSServer(http.HandlerFunc(f.serve)) // its certificate is for 127.0.0.1 and example.com
	defer server.Close()
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, cert, 0o600); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(server.Certificate().Raw)
	print := hex.EncodeToString(sum[:])
	otherHost := strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	const prefix = "elastic.https.ssl."
	for name, c := range map[string]struct {
		url string
		set map[string]string
		key string // at fault; empty: it works
	}{
		"authority's file":        {server.URL, map[string]string{prefix + "truststore.location": file, "elastic.security.protocol": "ssl"}, ""},
		"authority's text":        {server.URL, map[string]string{prefix + "truststore.certificates": string(cert)}, ""},
		"fingerprint":             {server.URL, map[string]string{prefix + "ca.fingerprint": print}, ""},
		"fingerprint with colons": {server.URL, map[string]string{prefix + "ca.fingerprint": strings.ToUpper(print[:2]) + ":" + print[2:]}, ""},
		"other fingerprint":       {server.URL, map[string]string{prefix + "ca.fingerprint": strings.Repeat("ab", 32)}, prefix + "ca.fingerprint"},
		"no fingerprint":          {server.URL, map[string]string{prefix + "ca.fingerprint": "abc"}, prefix + "ca.fingerprint"},
		"unknown authority":       {server.URL, nil, prefix + "truststore.location"},
		"unknown without host":    {server.URL, map[string]string{prefix + "endpoint.identification.algorithm": ""}, prefix + "truststore.location"},
		"other host":              {otherHost, map[string]string{prefix + "truststore.location": file}, "connection.url"},
		"other host unchecked":    {otherHost, map[string]string{prefix + "truststore.location": file, prefix + "endpoint.identification.algorithm": ""}, ""},
		"no such file":            {server.URL, map[string]string{prefix + "truststore.location": file + "x"}, prefix + "truststore.location"},
		"no key in file":          {server.URL, map[string]string{prefix + "keystore.location": file}, prefix + "keystore.location"},
	} {
		t.Run(name, func(t *testing.T) {
			set := map[string]string{"connection.url": c.url}
			for k, v := range c.set {
				set[k] = v
			}
			errs := findingsOf(t, set)
			if c.key != "" {
				if len(errs) != 1 || errs[c.key] == "" {
					t.Fatalf("errors: %v, want one under %s", errs, c.key)
				}
				return
			}
			if len(errs) > 0 {
				t.Fatalf("errors: %v", errs)
			}
			r := newRun(t, "x", c.url, c.set)
			r.write(t, rec{key: text(name), value: jsonValue(`{}`)})
			r.flush(t)
			if f.document(name) != "{}" {
				t.Fatal("the document is not there")
			}
		})
	}
	r := newRun(t, "x", server.URL, nil) // a task does not wait for trust
	err := r.Write(t.Context(), r.records(t, rec{key: text("a"), value: jsonValue(`{}`)}))
	if err == nil || connectapi.AsError(err).Key != prefix+"truststore.location" {
		t.Fatalf("written to a server nobody trusts: %v", err)
	}
}
