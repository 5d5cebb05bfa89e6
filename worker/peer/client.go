package peer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/penstockio/penstock/rest/api"
)

// maxAnswer bounds what is read of an answer.
const maxAnswer = 1 << 20

// Client calls other workers. It is safe for concurrent use.
type Client struct{ http *http.Client }

// NewClient makes a client; its calls end with the contexts they are given.
func NewClient() *Client {
	return &Client{&http.Client{Transport: &http.Transport{
		DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext, MaxIdleConnsPerHost: 2, IdleConnTimeout: 30 * time.Second,
	}}}
}

// Close ends idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// PutTasks hands the tasks a connector made to the leader at base, who writes them.
func (c *Client) PutTasks(ctx context.Context, base string, s Signing, k Key, connector string, tasks []map[string]string) error {
	body, err := json.Marshal(tasks)
	if err != nil {
		return fmt.Errorf("encoding the tasks of connector %s: %w", connector, err)
	}
	to := strings.TrimSuffix(base, "/") + "/connectors/" + url.PathEscape(connector) + "/tasks"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("handing the tasks of connector %s to the leader: %w", connector, err)
	}
	req.Header.Set("Content-Type", "application/json")
	s.Sign(k, req.Header, body)
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("handing the tasks of connector %s to the leader: %w", connector, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("handing the tasks of connector %s to the leader: %w", connector, err)
	}
	if resp.StatusCode < 300 {
		return nil
	}
	e := &api.Error{ErrorCode: resp.StatusCode}
	if json.Unmarshal(answer, e) != nil || e.Message == "" {
		e.Message = fmt.Sprintf("%s answered %s: %.300s", to, resp.Status, answer)
	}
	return fmt.Errorf("handing the tasks of connector %s to the leader at %s: %w", connector, base, e)
}
