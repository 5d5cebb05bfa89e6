package rest

import (
	"context"
	"net/http"

	"github.com/penstockio/penstock/rest/api"
)

// Worker is what the interface needs of the node behind it. Errors carry their status as *api.Error; any other error
// is a 500. Reads answer from the local view at once.
type Worker interface {
	ServerInfo() api.ServerInfo
	// Ready tells that start-up is so far that all but Health may be called.
	Ready() bool
	// Health says nil when the node works; started tells whether start-up is over.
	Health(ctx context.Context) (started bool, err error)

	// Leader gives the URL of the worker that must answer writes, Owner that of the one that runs a task or, with a negative
	// number, the connector itself; empty: this one. An error means that it is not known at the moment.
	Leader(ctx context.Context) (url string, err error)
	Owner(ctx context.Context, id api.TaskID) (url string, err error)
	// CatchUp waits until reads here show what another worker has written.
	CatchUp(ctx context.Context) error
	// PutTasks is a call between workers: a connector's tasks, signed.
	PutTasks(ctx context.Context, name string, h http.Header, body []byte) error
	// Fence is another: to fence the producers of a source's earlier tasks.
	Fence(ctx context.Context, name string, h http.Header, body []byte) error

	Connectors() []string
	Info(name string) (api.ConnectorInfo, error)
	Status(name string) (api.StateInfo, error)
	Tasks(name string) ([]api.TaskInfo, error)
	Offsets(ctx context.Context, name string) (api.OffsetsInfo, error)

	// Topics lists the topics a connector used; ResetTopics forgets them.
	Topics(name string) ([]string, error)
	ResetTopics(ctx context.Context, name string) error

	Create(ctx context.Context, r api.CreateRequest) (api.ConnectorInfo, error)
	PutConfig(ctx context.Context, name string, cfg api.Config) (info api.ConnectorInfo, created bool, err error)
	PatchConfig(ctx context.Context, name string, p api.Patch) (api.ConnectorInfo, error)
	Delete(ctx context.Context, name string) error
	Pause(ctx context.Context, name string) error
	Resume(ctx context.Context, name string) error
	Stop(ctx context.Context, name string) error
	// Restart restarts the connector alone when both are false; otherwise it answers the states as they will be.
	Restart(ctx context.Context, name string, includeTasks, onlyFailed bool) (*api.StateInfo, error)
	RestartTask(ctx context.Context, id api.TaskID) error

	// Loggers gives the loggers with a level of their own. SetLogger changes one and its descendants here and tells which,
	// SetLoggers asks all workers of the group for that.
	Loggers() map[string]api.LoggerLevel
	Logger(name string) (api.LoggerLevel, error)
	SetLogger(name, level string) ([]string, error)
	SetLoggers(ctx context.Context, name, level string) error

	Plugins(connectorsOnly bool) []api.PluginInfo
	PluginConfig(ctx context.Context, class string) ([]api.ConfigKey, error)
	Validate(ctx context.Context, class string, cfg api.Config) (api.ConfigInfos, error)
}
