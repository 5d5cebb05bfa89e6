package elasticsearch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/penstockio/penstock/connect-api"
)

// Version is the connector's.
const Version = "1.0.0"

// Sink is the connector elasticsearch.
var Sink connectapi.Connector = connector{connectapi.Sink[Config]{
	Info: connectapi.Info{
		Name: "elasticsearch", Version: Version,
		Doc: "Writes records as documents into Elasticsearch or OpenSearch: bulk requests, ids from keys, deletes on tombstones.",
		Aliases: []string{
			"io.confluent.connect.elasticsearch.ElasticsearchSinkConnector", "ElasticsearchSinkConnector", "ElasticsearchSink",
			"io.aiven.connect.elasticsearch.ElasticsearchSinkConnector",
		},
		Metrics: metrics,
	},
	Validate: validate,
	Open: func(_ context.Context, cfg Config, t connectapi.SinkContext) (connectapi.SinkTask, error) {
		return open(cfg, t)
	},
}}

// connector adds to the sink the keys that are no part of Config, and their findings.
type connector struct{ connectapi.Sink[Config] }

// Definition is the sink's with those keys.
func (c connector) Definition() (*connectapi.Definition, error) {
	d, err := c.Sink.Definition()
	if err != nil {
		return nil, err
	}
	if err := defineOther(d.Config); err != nil {
		return nil, err
	}
	own := d.Validate
	d.Validate = func(ctx context.Context, values map[string]string) ([]connectapi.Finding, error) {
		f, err := own(ctx, values)
		return append(findOther(values), f...), err
	}
	return d, nil
}

// checkTimeout bounds how long one server is asked for at validation.
const checkTimeout = 5 * time.Second

// validate checks the configuration, and that a server can be reached with it.
func validate(ctx context.Context, cfg Config) error {
	set, err := check(cfg)
	if err != nil {
		return err
	}
	var errs []error
	for _, u := range set.urls {
		err := ping(ctx, set, u)
		if err == nil {
			return nil // one is enough: tasks leave the others out while they are away
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// ping asks one server who it is.
func ping(ctx context.Context, set *settings, u *url.URL) error {
	one := *set
	one.urls = []*url.URL{u}
	c, err := newClient(&one, one.urls)
	if err != nil {
		return err
	}
	defer c.close()
	status, reply, err := c.do(ctx, min(set.ReadTimeout, checkTimeout), http.MethodGet, "/", "", nil)
	switch {
	case err != nil:
		return connectionProblem(&one, err)
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return refusal(&one, status, one.redact(statusText(status, reply)))
	case status == http.StatusOK && isElasticsearch(reply):
		return nil
	}
	return connectapi.ConfigError("connection.url", fmt.Errorf("%s answers, but is no Elasticsearch and no OpenSearch (%s): check host, port and path", u.Host, one.redact(statusText(status, reply))))
}

// isElasticsearch recognises the answer to GET / of Elasticsearch and OpenSearch, of any version.
func isElasticsearch(reply []byte) bool {
	var r struct {
		Tagline string `json:"tagline"`
		Version struct {
			Number       string `json:"number"`
			Distribution string `json:"distribution"`
		} `json:"version"`
	}
	return json.Unmarshal(reply, &r) == nil && r.Version.Number != "" &&
		(strings.Contains(r.Tagline, "for Search") || r.Version.Distribution == "opensearch" || strings.Contains(r.Tagline, "OpenSearch"))
}
