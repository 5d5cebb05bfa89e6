package kafka

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"regexp"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// transport reads security.protocol and ssl.* as Kafka clients know them, stores being PEM files. It gives nil for one without TLS.
func transport(p map[string]string) (*tls.Config, error) {
	switch proto := p["security.protocol"]; proto {
	case "", "PLAINTEXT", "SASL_PLAINTEXT":
		return nil, nil
	case "SSL", "SASL_SSL":
		return tlsConfig(p)
	default:
		return nil, fmt.Errorf("invalid value %q for configuration security.protocol: must be PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL", proto)
	}
}

// saslOpts reads sasl.* as Kafka clients know them.
func saslOpts(p map[string]string) ([]kgo.Opt, error) {
	if proto := p["security.protocol"]; proto != "SASL_PLAINTEXT" && proto != "SASL_SSL" {
		return nil, nil
	}
	var opts []kgo.Opt
	user, pass, err := jaas(p["sasl.jaas.config"])
	if err != nil {
		return nil, err
	}
	switch m := p["sasl.mechanism"]; m {
	case "PLAIN":
		opts = append(opts, kgo.SASL(plain.Auth{User: user, Pass: pass}.AsMechanism()))
	case "SCRAM-SHA-256":
		opts = append(opts, kgo.SASL(scram.Auth{User: user, Pass: pass}.AsSha256Mechanism()))
	case "SCRAM-SHA-512":
		opts = append(opts, kgo.SASL(scram.Auth{User: user, Pass: pass}.AsSha512Mechanism()))
	default:
		return nil, fmt.Errorf("invalid value %q for configuration sasl.mechanism: PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512 are supported", m)
	}
	return opts, nil
}

func tlsConfig(p map[string]string) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if f := p["ssl.truststore.location"]; f != "" {
		pem, err := os.ReadFile(f)
		if err != nil {
			return nil, fmt.Errorf("reading ssl.truststore.location: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("ssl.truststore.location %s holds no PEM certificate (JKS stores are not read: convert it to PEM)", f)
		}
	}
	if f := p["ssl.keystore.location"]; f != "" {
		cert, err := tls.LoadX509KeyPair(f, f)
		if err != nil {
			return nil, fmt.Errorf("reading ssl.keystore.location %s as PEM (certificate and key in one file): %w", f, err)
		}
		c.Certificates = []tls.Certificate{cert}
	}
	return c, nil
}

var (
	jaasUser = regexp.MustCompile(`username\s*=\s*"((?:[^"\\]|\\.)*)"`)
	jaasPass = regexp.MustCompile(`password\s*=\s*"((?:[^"\\]|\\.)*)"`)
)

// jaas reads user and password of a Java login module line. Errors never quote it: I2.
func jaas(s string) (user, pass string, err error) {
	u, w := jaasUser.FindStringSubmatch(s), jaasPass.FindStringSubmatch(s)
	if u == nil || w == nil {
		return "", "", fmt.Errorf(`sasl.jaas.config needs username="…" and password="…" of a login module`)
	}
	return u[1], w[1], nil
}
