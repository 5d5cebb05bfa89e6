package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// maxAnswer bounds what a client reads of an answer.
const maxAnswer = 64 << 20

// Client calls a worker's REST interface. It is safe for concurrent use.
type Client struct {
	Base string // http://host:port, no trailing slash needed
	HTTP *http.Client
}

// Create posts a connector.
func (c *Client) Create(ctx context.Context, r CreateRequest) (info ConnectorInfo, err error) {
	err = c.do(ctx, http.MethodPost, "/connectors", r, &info)
	return info, err
}

// PutConfig creates or replaces a connector's configuration.
func (c *Client) PutConfig(ctx context.Context, name string, cfg Config) (info ConnectorInfo, err error) {
	err = c.do(ctx, http.MethodPut, connector(name)+"/config", cfg, &info)
	return info, err
}

// Connectors lists the names.
func (c *Client) Connectors(ctx context.Context) (names []string, err error) {
	err = c.do(ctx, http.MethodGet, "/connectors", nil, &names)
	return names, err
}

// Status reads a connector's and its tasks' states.
func (c *Client) Status(ctx context.Context, name string) (s StateInfo, err error) {
	err = c.do(ctx, http.MethodGet, connector(name)+"/status", nil, &s)
	return s, err
}

// Offsets reads how far a connector came.
func (c *Client) Offsets(ctx context.Context, name string) (o OffsetsInfo, err error) {
	err = c.do(ctx, http.MethodGet, connector(name)+"/offsets", nil, &o)
	return o, err
}

// Delete removes a connector; its offsets stay.
func (c *Client) Delete(ctx context.Context, name string) error {
	return c.do(ctx, http.MethodDelete, connector(name), nil, nil)
}

// Do sends any other call of the interface: verb is the part behind the connector's name, such as "/pause".
func (c *Client) Do(ctx context.Context, method, name, verb string) error {
	return c.do(ctx, method, connector(name)+verb, nil, nil)
}

// Health asks how the server is. An unhealthy answer is an *Error too.
func (c *Client) Health(ctx context.Context) (h Health, err error) {
	err = c.do(ctx, http.MethodGet, "/health", nil, &h)
	return h, err
}

func connector(name string) string { return "/connectors/" + url.PathEscape(name) }

func (c *Client) do(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("encoding the request %s %s: %w", method, path, err)
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.Base, "/")+path, body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	h := c.HTTP
	if h == nil {
		h = http.DefaultClient
	}
	resp, err := h.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("reading the answer to %s %s: %w", method, path, err)
	}
	if resp.StatusCode >= 300 {
		e := &Error{ErrorCode: resp.StatusCode}
		if json.Unmarshal(b, e) != nil || e.Message == "" {
			e.Message = fmt.Sprintf("%s %s answered %s: %.300s", method, path, resp.Status, b)
		}
		return e
	}
	if out == nil || len(b) == 0 {
		return nil
	}
	if err := json.Unmarshal(b, out); err != nil {
		return fmt.Errorf("decoding the answer to %s %s: %w", method, path, err)
	}
	return nil
}
