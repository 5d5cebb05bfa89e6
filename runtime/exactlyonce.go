package runtime

import (
	"fmt"

	connectapi "github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/connect-api/host"
	"github.com/penstockio/penstock/runtime/plugins"
)

// Keys of source connectors for exactly-once delivery (KIP-618).
const (
	supportKey       = "exactly.once.support"
	boundaryKey      = "transaction.boundary"
	boundaryInterval = "transaction.boundary.interval.ms"
)

func exactlyOnceKeys() []connectapi.ConfigKey {
	const group = "Exactly Once Support"
	return []connectapi.ConfigKey{
		{
			Name: supportKey, Type: connectapi.StringConfig, Default: def("requested"), OneOf: []string{"requested", "required"}, Importance: connectapi.Medium,
			Group: group, Width: connectapi.ShortWidth, Display: "Exactly once support",
			Doc: "required: the connector is refused unless the worker writes exactly once and the connector says that its positions never lose or repeat a record.",
		},
		{
			Name: boundaryKey, Type: connectapi.StringConfig, Default: def("poll"), OneOf: []string{"poll", "interval", "connector"}, Importance: connectapi.Medium,
			Group: group, Width: connectapi.ShortWidth, Display: "Transaction Boundary",
			Doc: "Where transactions end when the worker writes exactly once: after each batch, after some time, or where the connector says.",
		},
		{
			Name: boundaryInterval, Type: connectapi.LongConfig, Min: atLeast(0), Importance: connectapi.Low, Group: group, Width: connectapi.ShortWidth,
			Display: "Transaction boundary interval", Doc: "With transaction.boundary=interval the time (ms) between two ends; else the worker's offset.flush.interval.ms.",
		},
	}
}

// exactlyOnceProblems are what a source's configuration asks for and worker or plugin can't give.
func exactlyOnceProblems(enabled bool, plugin *plugins.Plugin, said *host.Validation, cfg map[string]string) map[string][]string {
	out := map[string][]string{}
	if cfg[supportKey] == "required" {
		switch {
		case !enabled:
			out[supportKey] = append(out[supportKey], "This worker does not write exactly once: set exactly.once.source.support=enabled on all workers, or exactly.once.support=requested.")
		case !said.ExactlyOnce:
			out[supportKey] = append(out[supportKey], fmt.Sprintf("The connector %s does not promise, with this configuration, that its positions never lose or repeat a record.", plugin.Name))
		}
	}
	if cfg[boundaryKey] == "connector" && !plugin.Boundaries {
		out[boundaryKey] = append(out[boundaryKey], fmt.Sprintf("The connector %s does not mark transactions: use poll or interval.", plugin.Name))
	}
	return out
}
