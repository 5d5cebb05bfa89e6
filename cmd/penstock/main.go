// Command penstock is the data-integration connect runtime in one binary: a broker, a worker and the REST interface, or
// either half alone. It composes the packages below and decides nothing itself.
package main

import (
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the build (-ldflags -X main.version=…).
var version = "dev"

// builtFrom is the commit, set likewise: go build records none where -buildvcs=false or git is not allowed to look.
var builtFrom string

func main() {
	if err := root().Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "penstock: "+err.Error())
		os.Exit(1)
	}
}

func root() *cobra.Command {
	c := &cobra.Command{
		Use:   "penstock",
		Short: "Moves changes from databases into search engines and data lakes",
		Long: "Penstock runs connectors: rows changed in MySQL appear in Elasticsearch and in a data lake.\n" +
			"`penstock server` is all of it on one machine; put plugin binaries into plugin.path and POST connectors to /connectors.",
		SilenceUsage: true, SilenceErrors: true,
	}
	c.AddCommand(logCommand(), nodeCommand("server", "Run broker, worker and REST interface in one process", true, true),
		nodeCommand("broker", "Run the broker alone", true, false),
		nodeCommand("worker", "Run a worker over a Kafka-speaking cluster", false, true),
		&cobra.Command{Use: "version", Short: "Print version and build", Args: cobra.NoArgs, Run: func(*cobra.Command, []string) {
			fmt.Printf("penstock %s (commit %s)\n", version, commit())
		}})
	return c
}

func commit() string {
	if builtFrom != "" {
		return builtFrom
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return "unknown"
}
