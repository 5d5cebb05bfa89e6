package herder

import (
	"context"
	"net/http"

	"github.com/penstockio/penstock/rest/api"
)

// Fence takes another worker's request to fence the producers of a source's earlier tasks; body is what was signed. Our own
// workers do not ask, since the leader fences by itself; Kafka Connect's do.
func (h *Herder) Fence(ctx context.Context, name string, header http.Header, body []byte) error {
	key, have := h.Configs.SessionKey()
	if err := h.Signing.Verify(key, have, header, body); err != nil {
		return err
	}
	if leader, err := h.Leader(ctx); err != nil {
		return err
	} else if leader != "" {
		return api.Errorf(http.StatusConflict, "%s: the leader is %s", conflict, leader)
	}
	k, ok := h.Configs.Get(name)
	switch {
	case !ok:
		return notFound(name)
	case h.typeOf(k.Config) == "sink":
		return api.Errorf(http.StatusBadRequest, "Connector %s is not a source connector", name)
	case !k.FencingPending:
		return nil
	}
	if err := h.fenceTasks(ctx, name, k); err != nil {
		return conflicting(err)
	}
	if now, ok := h.Configs.Get(name); ok && now.FencingPending {
		return api.Errorf(http.StatusConflict, "%s: the tasks of connector %s changed meanwhile", conflict, name)
	}
	return nil
}
