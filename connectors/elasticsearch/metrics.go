package elasticsearch

import (
	"sync/atomic"

	"github.com/penstockio/penstock/connect-api"
)

// metrics are what a task reports.
var metrics = []connectapi.Metric{
	{Name: "documents", Counter: true, Help: "Documents written or deleted."},
	{Name: "requests", Counter: true, Help: "Bulk requests sent."},
	{Name: "retries", Counter: true, Help: "Bulk requests sent again, whole or in part."},
	{Name: "version_conflicts", Counter: true, Help: "Writes that Elasticsearch left out because it had the version, or a newer one: replays, or a topic that was made anew."},
	{Name: "malformed", Counter: true, Help: "Documents that Elasticsearch refused."},
	{Name: "splits", Counter: true, Help: "Bulk requests that were too large, or refused as a whole, and sent in halves."},
	{Name: "buffered_records", Help: "Records held."},
	{Name: "buffered_bytes", Unit: "bytes", Help: "Bytes of documents held."},
	{Name: "requests_allowed", Help: "Bulk requests that may be under way at once: fewer while the server is overloaded."},
}

type counters struct {
	documents, requests, retries, conflicts, malformed, splits atomic.Int64
}

func (t *task) metrics() map[string]float64 {
	records, bytes := t.budget.held()
	c := &t.counters
	return map[string]float64{
		"documents": float64(c.documents.Load()), "requests": float64(c.requests.Load()), "retries": float64(c.retries.Load()),
		"version_conflicts": float64(c.conflicts.Load()), "malformed": float64(c.malformed.Load()), "splits": float64(c.splits.Load()),
		"buffered_records": float64(records), "buffered_bytes": float64(bytes), "requests_allowed": float64(t.limit.current()),
	}
}
