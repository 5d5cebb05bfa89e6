package worker

import (
	"context"
	"net/http"

	"github.com/penstockio/penstock/rest/api"
	"github.com/penstockio/penstock/runtime"
)

// uses is who is told of the topics connectors use.
func (w *Worker) uses() runtime.Uses {
	if !w.cfg.TopicTracking {
		return nil
	}
	return w.Herder
}

// Topics lists the topics that a connector used since it was made, or since they were reset.
func (w *Worker) Topics(connector string) ([]string, error) {
	if !w.cfg.TopicTracking {
		return nil, api.Errorf(http.StatusForbidden, "Topic tracking is disabled (topic.tracking.enable=false).")
	}
	return w.Statuses.Uses(connector), nil
}

// ResetTopics forgets them.
func (w *Worker) ResetTopics(ctx context.Context, connector string) error {
	switch {
	case !w.cfg.TopicTracking:
		return api.Errorf(http.StatusForbidden, "Topic tracking is disabled (topic.tracking.enable=false).")
	case !w.cfg.TopicReset:
		return api.Errorf(http.StatusForbidden, "Topic tracking reset is disabled (topic.tracking.allow.reset=false).")
	}
	return w.ForgetUses(ctx, connector)
}
