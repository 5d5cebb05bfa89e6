package main

import (
	"fmt"
	"io"
	"sort"
	"strings"

	"github.com/penstockio/penstock/broker"
	connectapi "github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/worker"
)

// printConfig writes the configuration a node would run with as a .properties file: every key it reads with its value and
// where that came from, then keys that nothing reads. Secrets are hidden.
func (s *settings) printConfig(w io.Writer, withBroker, withWorker bool) error {
	defaults := map[string]string{"log.level": "info", "log.format": "text", "shutdown.timeout": "30s"}
	if withBroker {
		for k, v := range map[string]string{
			"data-dir": "penstock-data", "broker.listeners": "127.0.0.1:9092", "broker.advertised.listeners": "", "listeners": "",
		} {
			defaults[k] = v
		}
		for _, k := range broker.Keys {
			defaults["broker."+k.Name] = k.Default
		}
	}
	if withWorker {
		for _, k := range worker.Keys() {
			defaults[k.Name] = ""
			if k.Default != nil {
				defaults[k.Name] = *k.Default
			}
		}
		if defaults["plugin.path"] == "" {
			defaults["plugin.path"] = defaultPluginPath()
		}
	}
	if withBroker && withWorker { // the node's own broker, which makes one replica
		delete(defaults, "bootstrap.servers")
		for k := range defaults {
			if strings.HasSuffix(k, ".storage.replication.factor") {
				defaults[k] = "1"
			}
		}
	}
	shown := new(connectapi.ConfigDef).Redact(s.values)
	var keys []string
	for k := range defaults {
		keys = append(keys, k)
	}
	for k := range s.values {
		if _, ok := defaults[k]; !ok {
			keys = append(keys, k)
		}
	}
	sort.Strings(keys)
	for _, k := range keys {
		v, origin := defaults[k], "a default"
		if given, ok := shown[k]; ok {
			v, origin = given, s.origin[k]
		}
		if _, known := defaults[k]; !known && !hasOpenPrefix(k) {
			origin += ", and nothing reads it"
		}
		if _, err := fmt.Fprintf(w, "# from %s\n%s=%s\n", origin, k, strings.ReplaceAll(v, `\`, `\\`)); err != nil {
			return err
		}
	}
	return nil
}
