package elasticsearch

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/penstockio/penstock/connect-api"
)

// settings is a checked configuration.
type settings struct {
	Config
	urls        []*url.URL
	upsert      bool
	onNull      string // fail, ignore, delete
	onMalformed string // fail, warn, ignore
	keyword     bool   // Decimals as strings
	keyIgnored  map[string]bool
	schIgnored  map[string]bool
}

// check returns the settings, or all that is wrong without asking a server, each under its key.
func check(cfg Config) (*settings, error) {
	s := &settings{Config: cfg, keyIgnored: setOf(cfg.TopicKeyIgn), schIgnored: setOf(cfg.TopicSchIgn)}
	var errs []error
	bad := func(key string, format string, args ...any) {
		errs = append(errs, connectapi.ConfigError(key, fmt.Errorf("Invalid value for configuration "+key+": "+format, args...))) //nolint:staticcheck // Kafka's words
	}
	word := func(key, value string, of ...string) string {
		for _, o := range of {
			if strings.EqualFold(o, strings.TrimSpace(value)) {
				return o
			}
		}
		bad(key, "%q is none of %s", value, strings.Join(of, ", "))
		return of[0]
	}
	s.upsert = word("write.method", cfg.WriteMethod, "INSERT", "UPSERT") == "UPSERT"
	s.onNull = word("behavior.on.null.values", cfg.OnNull, "fail", "ignore", "delete")
	s.onMalformed = word("behavior.on.malformed.documents", cfg.OnMalformed, "fail", "warn", "ignore")
	s.keyword = word("decimal.handling", cfg.Decimals, "double", "keyword") == "keyword"
	secure := word("elastic.security.protocol", cfg.Protocol, "PLAINTEXT", "SSL") == "SSL"
	word("elastic.https.ssl.truststore.type", cfg.TrustType, "PEM")
	word("elastic.https.ssl.keystore.type", cfg.KeyType, "PEM")
	word("elastic.https.ssl.endpoint.identification.algorithm", cfg.VerifyHost, "https", "")

	for _, text := range cfg.URLs {
		u, err := url.Parse(strings.TrimRight(text, "/"))
		switch {
		case err != nil: // its text may hold a password: not shown
			bad("connection.url", "one of the URLs cannot be understood; write http://host:9200")
			continue
		case u.User != nil:
			bad("connection.url", "%s holds a user; put it into connection.username and connection.password", u.Redacted())
		case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
			bad("connection.url", "%q is no http or https URL; write http://host:9200", text)
		case secure && u.Scheme != "https":
			bad("connection.url", "%s is not https, which elastic.security.protocol=SSL demands", text)
		}
		s.urls = append(s.urls, u)
	}
	if len(cfg.URLs) == 0 {
		bad("connection.url", "no URL is given; write http://host:9200")
	}
	switch {
	case cfg.APIKey != "" && cfg.Username != "":
		bad("connection.api.key", "both an API key and connection.username are set; take one away")
	case (cfg.Username == "") != (cfg.Password == ""):
		bad("connection.username", "connection.username and connection.password go together")
	}
	if int64(cfg.Buffered) < int64(cfg.BatchSize)*int64(cfg.InFlight) {
		bad("max.buffered.records", "%d is less than batch.size x max.in.flight.requests = %d", cfg.Buffered, int64(cfg.BatchSize)*int64(cfg.InFlight))
	}
	if s.upsert && cfg.VersionFrom != "" {
		bad("external.version.header", "updates take no external version: use write.method=INSERT, or leave the key out")
	}
	if s.upsert && s.KeyIgnore && s.onNull == "delete" {
		bad("behavior.on.null.values", "DELETE needs the record's key as the document's id, and key.ignore is true")
	}
	if _, err := s.index("topic"); err != nil {
		bad("index.name.format", "%v", err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return s, nil
}

func setOf(list []string) map[string]bool {
	m := map[string]bool{}
	for _, e := range list {
		m[e] = true
	}
	return m
}

func (s *settings) ignoresKey(topic string) bool    { return s.KeyIgnore || s.keyIgnored[topic] }
func (s *settings) ignoresSchema(topic string) bool { return s.SchemaIgnore || s.schIgnored[topic] }

// maxIndexName is how long Elasticsearch lets the name of an index be, in bytes.
const maxIndexName = 255

// index returns the index of a topic's documents.
func (s *settings) index(topic string) (string, error) {
	name := strings.ReplaceAll(s.IndexName, "${topic}", topic)
	name = strings.TrimLeft(strings.ToLower(name), "-_+")
	if len(name) > maxIndexName {
		name = strings.ToValidUTF8(name[:maxIndexName], "")
	}
	switch name {
	case ".":
		name = "dot"
	case "..":
		name = "dotdot"
	case "":
		return "", fmt.Errorf("topic %q leaves nothing of the index's name", topic)
	}
	if i := strings.IndexFunc(name, func(r rune) bool {
		return r <= ' ' || strings.ContainsRune(`\/*?"<>|,#:`, r)
	}); i >= 0 {
		return "", fmt.Errorf("topic %q makes an index name that Elasticsearch refuses for its %q; rename it with index.name.format or the transform RegexRouter", topic, name[i])
	}
	return name, nil
}

// secretKey is the key to look at when credentials are refused.
func secretKey(c *Config) string {
	switch {
	case c.APIKey != "":
		return "connection.api.key"
	case c.Username != "":
		return "connection.password"
	}
	return "connection.username"
}

// redact takes secrets out of a text that came from elsewhere.
func (s *settings) redact(text string) string {
	for _, secret := range []string{string(s.Password), string(s.APIKey)} {
		if len(secret) > 3 {
			text = strings.ReplaceAll(text, secret, connectapi.Hidden)
		}
	}
	return text
}

func (s *settings) hosts() string {
	var all []string
	for _, u := range s.urls {
		if !slices.Contains(all, u.Host) {
			all = append(all, u.Host)
		}
	}
	return strings.Join(all, ", ")
}
