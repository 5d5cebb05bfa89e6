package worker

import (
	"fmt"
	"sort"
	"strings"
)

// ignored are Kafka Connect's keys, or their beginnings, that change nothing here, and why.
var ignored = map[string]string{
	"worker.sync.timeout.ms":           "a worker that is behind reads on without a limit of its own",
	"worker.unsync.backoff.ms":         "a worker that is behind does not leave its group",
	"offset.flush.timeout.ms":          "positions are written beside the data, which nothing waits for",
	"config.storage.partitions":        "the config topic has one partition",
	"config.storage.cleanup.policy":    "internal topics are compacted",
	"offset.storage.cleanup.policy":    "internal topics are compacted",
	"status.storage.cleanup.policy":    "internal topics are compacted",
	"plugin.discovery":                 "plugins are executables; each says what it is",
	"rest.advertised.listener":         "the first of listeners is told to others, unless rest.advertised.host.name and .port say another address",
	"listeners.https.":                 "https is not served; put a proxy in front",
	"admin.listeners.https.":           "https is not served; put a proxy in front",
	"rest.extension.classes":           "Java classes cannot be loaded; put a proxy in front for authentication",
	"metrics.":                         "/metrics is always there",
	"metric.reporters":                 "/metrics is always there",
	"auto.include.jmx.reporter":        "there is no JMX",
	"send.buffer.bytes":                "the system chooses its buffers",
	"receive.buffer.bytes":             "the system chooses its buffers",
	"reconnect.backoff.":               "the client chooses",
	"socket.connection.setup.timeout.": "the client chooses",
	"retry.backoff.":                   "the client chooses",
	"client.dns.lookup":                "all addresses of a name are tried",
	"offset.storage.file.filename":     "there is no standalone mode; positions are in a topic",
}

// Ignored tells which given keys are Kafka Connect's and change nothing here, each with its reason.
func Ignored(props map[string]string) []string {
	var out []string
	for k := range props {
		if why, ok := ignoredKey(k); ok {
			out = append(out, fmt.Sprintf("%s has no effect: %s", k, why))
		}
	}
	sort.Strings(out)
	return out
}

func ignoredKey(k string) (why string, ok bool) {
	for prefix, why := range ignored {
		if k == prefix || strings.HasPrefix(k, prefix) && (strings.HasSuffix(prefix, ".") || strings.HasPrefix(k, prefix+".")) {
			return why, true
		}
	}
	return "", false
}
