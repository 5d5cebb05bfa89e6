package elasticsearch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/elastic/elastic-transport-go/v8/elastictransport"

	"github.com/penstockio/penstock/connect-api"
)

// maxReply bounds an answer's bytes.
const maxReply = 256 << 20

// client sends requests to the servers in turn, leaving out for a while those that do not answer. It never sends one twice
// by itself. It is safe for use by many goroutines.
type client struct {
	set  *settings
	http *http.Transport
	tp   *elastictransport.Client
}

func newClient(set *settings, urls []*url.URL) (*client, error) {
	t, err := tlsConfig(set)
	if err != nil {
		return nil, err
	}
	h := &http.Transport{
		DialContext:           (&net.Dialer{Timeout: set.DialTimeout, KeepAlive: 30 * time.Second}).DialContext,
		TLSClientConfig:       t,
		TLSHandshakeTimeout:   max(set.DialTimeout, 10*time.Second),
		MaxIdleConnsPerHost:   int(set.InFlight) + 1,
		IdleConnTimeout:       set.IdleTime,
		DisableCompression:    !set.Compression,
		ExpectContinueTimeout: time.Second,
		WriteBufferSize:       64 << 10,
		ReadBufferSize:        64 << 10,
	}
	tp, err := elastictransport.New(elastictransport.Config{ //nolint:staticcheck // its successor takes the same
		UserAgent: "penstock-elasticsearch/" + Version, URLs: urls,
		Username: set.Username, Password: string(set.Password), APIKey: string(set.APIKey),
		DisableRetry: true, CompressRequestBody: set.Compression, Transport: h,
	})
	if err != nil {
		return nil, connectapi.ConfigError("connection.url", fmt.Errorf("making a client for %s: %w", set.hosts(), err))
	}
	return &client{set: set, http: h, tp: tp}, nil
}

func (c *client) close() { c.http.CloseIdleConnections() }

// do sends one request and returns the status and the whole answer. An error means that there was no whole answer.
func (c *client) do(ctx context.Context, timeout time.Duration, method, path, contentType string, body []byte) (int, []byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errTimeout)
	defer cancel()
	var in io.Reader
	if body != nil {
		in = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, path, in)
	if err != nil {
		return 0, nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", contentType)
	}
	req.Header.Set("Accept", "application/json")
	resp, err := c.tp.Perform(req)
	if err != nil {
		return 0, nil, c.why(ctx, err)
	}
	defer resp.Body.Close()
	reply, err := io.ReadAll(io.LimitReader(resp.Body, maxReply+1))
	switch {
	case err != nil:
		return 0, nil, c.why(ctx, err)
	case len(reply) > maxReply:
		return 0, nil, fmt.Errorf("the answer is larger than %d bytes", maxReply)
	}
	return resp.StatusCode, reply, nil
}

var errTimeout = errors.New("no answer in time")

// why makes an error of the way to the server one to read, without secrets.
func (c *client) why(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errTimeout) {
		return errTimeout
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return err
}

// bulkPath asks for the parts of the answer that are read.
const bulkPath = "/_bulk?filter_path=errors,items.*.status,items.*._id,items.*.error"

func (c *client) bulk(ctx context.Context, timeout time.Duration, body []byte) (int, []byte, error) {
	return c.do(ctx, timeout, http.MethodPost, bulkPath, "application/x-ndjson", body)
}

// tlsConfig says whom to trust and who we are.
func tlsConfig(set *settings) (*tls.Config, error) {
	t := &tls.Config{MinVersion: tls.VersionTLS12}
	pem := []byte(set.TrustPEM)
	key := "elastic.https.ssl.truststore.certificates"
	if set.TrustFile != "" {
		key = "elastic.https.ssl.truststore.location"
		var err error
		if pem, err = os.ReadFile(set.TrustFile); err != nil {
			return nil, connectapi.ConfigError(key, fmt.Errorf("reading the authorities' certificates: %w", err))
		}
	}
	if len(pem) > 0 {
		t.RootCAs = x509.NewCertPool()
		if !t.RootCAs.AppendCertsFromPEM(pem) {
			return nil, connectapi.ConfigError(key, errors.New("there is no certificate in PEM form in it; export Java stores with: keytool -exportcert -rfc"))
		}
	}
	if set.KeyFile != "" {
		pair, err := tls.LoadX509KeyPair(set.KeyFile, set.KeyFile)
		if err != nil {
			return nil, connectapi.ConfigError("elastic.https.ssl.keystore.location", fmt.Errorf("reading the client's certificate and key: %w", err))
		}
		t.Certificates = []tls.Certificate{pair}
	}
	if set.Fingerprint != "" {
		want, err := hex.DecodeString(strings.ReplaceAll(set.Fingerprint, ":", ""))
		if err != nil || len(want) != sha256.Size {
			return nil, connectapi.ConfigError("elastic.https.ssl.ca.fingerprint", errors.New("a SHA-256 fingerprint has 64 hexadecimal digits"))
		}
		verifyFingerprint(t, want)
	} else if set.VerifyHost == "" {
		verifyChainOnly(t)
	}
	return t, nil
}

// verifyFingerprint accepts a chain in which a certificate has the fingerprint and has signed, or is, the server's.
func verifyFingerprint(t *tls.Config, want []byte) {
	t.InsecureSkipVerify = true
	t.VerifyConnection = func(cs tls.ConnectionState) error {
		pool, others := x509.NewCertPool(), x509.NewCertPool()
		found := false
		for i, cert := range cs.PeerCertificates {
			if sum := sha256.Sum256(cert.Raw); bytes.Equal(sum[:], want) {
				if i == 0 {
					return nil
				}
				pool.AddCert(cert)
				found = true
			} else if i > 0 {
				others.AddCert(cert)
			}
		}
		if !found {
			return errFingerprint
		}
		_, err := cs.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: pool, Intermediates: others})
		return err
	}
}

var errFingerprint = errors.New("no certificate of the server's has the fingerprint of elastic.https.ssl.ca.fingerprint")

// verifyChainOnly checks all but the host's name.
func verifyChainOnly(t *tls.Config) {
	t.InsecureSkipVerify = true
	t.VerifyConnection = func(cs tls.ConnectionState) error {
		o := x509.VerifyOptions{Roots: t.RootCAs, Intermediates: x509.NewCertPool()}
		for _, cert := range cs.PeerCertificates[1:] {
			o.Intermediates.AddCert(cert)
		}
		_, err := cs.PeerCertificates[0].Verify(o)
		return err
	}
}
