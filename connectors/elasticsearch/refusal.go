package elasticsearch

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/penstockio/penstock/connect-api"
)

// permanent says that trying again cannot help: the other side is not who we trust.
func permanent(err error) bool {
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	return speaksNoTLS(err) || errors.As(err, &authority) || errors.As(err, &host) || errors.As(err, &invalid) ||
		errors.Is(err, errFingerprint)
}

// speaksNoTLS says that the other side does not answer in TLS at all.
func speaksNoTLS(err error) bool {
	var record tls.RecordHeaderError
	return errors.As(err, &record) || strings.Contains(err.Error(), "server gave HTTP response to HTTPS client")
}

// connectionProblem says under which key to look when a server cannot be talked to.
func connectionProblem(set *settings, err error) error {
	key, hint := "connection.url", "check the host and port, and that the server runs"
	var host x509.HostnameError
	switch {
	case errors.Is(err, errFingerprint):
		key, hint = "elastic.https.ssl.ca.fingerprint", "compare it with what Elasticsearch printed at its first start"
	case errors.As(err, &host):
		hint = "use the host name of the server's certificate, or set elastic.https.ssl.endpoint.identification.algorithm to nothing"
	case speaksNoTLS(err):
		hint = "the server speaks no TLS: write http://"
	case permanent(err):
		key, hint = "elastic.https.ssl.truststore.location", "name the PEM file of the authority that signed the server's certificate"
	case strings.Contains(err.Error(), "malformed HTTP"), strings.Contains(err.Error(), "EOF"):
		hint = "if the server speaks TLS, write https://"
	}
	return connectapi.ConfigError(key, fmt.Errorf("connecting to Elasticsearch at %s: %s: %s", set.hosts(), set.redact(err.Error()), hint))
}

// refusal is the error of a task whose requests a server answers with a status that waiting does not change.
func refusal(set *settings, status int, why string) error {
	switch status {
	case http.StatusUnauthorized:
		hint := "check connection.username and connection.password"
		if set.APIKey != "" {
			hint = "check connection.api.key"
		} else if set.Username == "" {
			hint = "the server wants a user: set connection.username and connection.password, or connection.api.key"
		}
		return connectapi.ConfigError(secretKey(&set.Config), fmt.Errorf("Elasticsearch at %s refuses the credentials: %s: %s", set.hosts(), why, hint)) //nolint:staticcheck // a name
	case http.StatusForbidden:
		key := "connection.username"
		if set.APIKey != "" {
			key = "connection.api.key"
		}
		return connectapi.ConfigError(key, fmt.Errorf("Elasticsearch at %s does not allow it: %s: give the user or API key of %s that privilege (monitor on the cluster; create_index, view_index_metadata, index, delete and write on the indices)", set.hosts(), why, key)) //nolint:staticcheck // a name
	}
	return fmt.Errorf("Elasticsearch at %s refuses the request: %s", set.hosts(), why) //nolint:staticcheck // a name
}

// itemRefusal is the error of a task one of whose documents cannot be written, for a reason that is not the document's.
func itemRefusal(set *settings, it *item, r *itemReply) error {
	why := set.redact(itemText(r))
	if r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden {
		return refusal(set, r.Status, why)
	}
	if r.Error != nil && r.Error.Type == typeNoIndex {
		why += ": create the index, or allow it with the server's setting action.auto_create_index"
	}
	o := it.origin
	return fmt.Errorf("writing record %s-%d@%d (%s of document %.100q of index %s): %s", o.Topic, o.Partition, o.Offset, it.op, it.id, it.index, why)
}
