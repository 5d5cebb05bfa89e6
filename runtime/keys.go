package runtime

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	connectapi "github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/runtime/convert"
	"github.com/penstockio/penstock/runtime/kafka"
	"github.com/penstockio/penstock/runtime/policy"
)

func def(s string) *string { return &s }

func atLeast(n float64) *float64 { return &n }

// TaskWeight is a connector's key of ours: what one of its tasks weighs beside others when the group shares tasks out.
const TaskWeight = "tasks.weight"

// frameworkKeys are the keys every connector has, in Kafka Connect's order (ConnectorConfig, SourceConnectorConfig,
// SinkConnectorConfig).
func frameworkKeys(sink bool) []connectapi.ConfigKey {
	const common = "Common"
	converter := func(name, display string, order int) connectapi.ConfigKey {
		return connectapi.ConfigKey{
			Name: name, Type: connectapi.ClassConfig, Importance: connectapi.Low, Group: common, Order: order, Width: connectapi.ShortWidth, Display: display,
			Suggested: convert.Classes(), Doc: "Converter of this connector; without it the worker's is used.",
			Validators: []func(any) error{knownConverter},
		}
	}
	keys := []connectapi.ConfigKey{
		{
			Name: "name", Type: connectapi.StringConfig, Required: true, Importance: connectapi.High, Group: common, Order: 1, Width: connectapi.MediumWidth, Display: "Connector name",
			Doc: "Globally unique name to use for this connector.", Validators: []func(any) error{legalName},
		},
		{
			Name: "connector.class", Type: connectapi.StringConfig, Required: true, Importance: connectapi.High, Group: common, Order: 2, Width: connectapi.LongWidth, Display: "Connector class",
			Doc: "Name of a connector, or the Java class name it stands for.",
		},
		{
			Name: "tasks.max", Type: connectapi.IntConfig, Default: def("1"), Min: atLeast(1), Importance: connectapi.High, Group: common, Order: 3, Width: connectapi.ShortWidth, Display: "Tasks max",
			Doc: "Maximum number of tasks to use for this connector.",
		},
		{
			Name: "tasks.max.enforce", Type: connectapi.BooleanConfig, Default: def("true"), Importance: connectapi.Low, Group: common, Order: 3, Width: connectapi.ShortWidth,
			Display: "Enforce tasks max", Doc: "Whether more tasks than tasks.max are an error.",
		},
	}
	if sink {
		keys = append(keys,
			connectapi.ConfigKey{
				Name: "topics", Type: connectapi.ListConfig, Default: def(""), Importance: connectapi.High, Group: common, Order: 4, Width: connectapi.LongWidth,
				Display: "Topics", Doc: "List of topics to consume, separated by commas.",
			},
			connectapi.ConfigKey{
				Name: "topics.regex", Type: connectapi.StringConfig, Default: def(""), Importance: connectapi.High, Group: common, Order: 4, Width: connectapi.LongWidth,
				Display: "Topics regex", Doc: "Regular expression giving topics to consume; it must match the whole name.", Validators: []func(any) error{legalRegex},
			})
	}
	keys = append(keys, converter("key.converter", "Key converter class", 5), converter("value.converter", "Value converter class", 6),
		connectapi.ConfigKey{
			Name: "header.converter", Type: connectapi.ClassConfig, Importance: connectapi.Low, Group: common, Order: 7, Width: connectapi.ShortWidth, Display: "Header converter class",
			Suggested: append([]string{convert.SimpleHeader}, convert.Classes()...), Doc: "Header converter of this connector; without it the worker's is used.",
			Validators: []func(any) error{func(v any) error {
				if s, _ := v.(string); s == "" || strings.HasSuffix(s, "SimpleHeaderConverter") || s == "Simple" {
					return nil
				}
				return knownConverter(v)
			}},
		},
		connectapi.ConfigKey{
			Name: "config.action.reload", Type: connectapi.StringConfig, Default: def("restart"), OneOf: []string{"none", "restart"}, Importance: connectapi.Low, Group: common,
			Order: 10, Width: connectapi.MediumWidth, Display: "Reload Action", Doc: "What to do when a value from outside changes.",
		},
		connectapi.ConfigKey{
			Name: "transforms", Type: connectapi.ListConfig, Default: def(""), Importance: connectapi.Low, Group: "Transforms", Order: 8, Width: connectapi.LongWidth,
			Display: "Transforms", Doc: "Aliases for the transformations to be applied to records.",
		},
		connectapi.ConfigKey{
			Name: "predicates", Type: connectapi.ListConfig, Default: def(""), Importance: connectapi.Low, Group: "Predicates", Order: 9, Width: connectapi.LongWidth,
			Display: "Predicates", Doc: "Aliases for the predicates used by transformations.",
		})
	keys = append(keys, policy.Defs(sink)...)
	keys = append(keys, connectapi.ConfigKey{
		Name: TaskWeight, Type: connectapi.IntConfig, Default: def("1"), Min: atLeast(1), Importance: connectapi.Low, Group: common, Order: 11, Width: connectapi.ShortWidth,
		Display: "Weight of a task", Doc: "What one task weighs beside other connectors' tasks when the worker group shares them out.",
	})
	keys = append(keys, RestartKeys()...)
	if !sink {
		keys = append(keys, exactlyOnceKeys()...)
		keys = append(keys, connectapi.ConfigKey{
			Name: "topic.creation.groups", Type: connectapi.ListConfig, Default: def(""), Importance: connectapi.Low, Group: "Topic Creation",
			Width: connectapi.LongWidth, Display: "Topic Creation Groups", Doc: "Groups of settings for topics this connector creates.",
		})
	}
	return keys
}

func knownConverter(v any) error {
	s, _ := v.(string)
	if s == "" {
		return nil
	}
	if _, ok := convert.Resolve(s); !ok {
		return fmt.Errorf("Class %s could not be found; known are %s", s, strings.Join(convert.Classes(), ", "))
	}
	return nil
}

func legalName(v any) error {
	s, _ := v.(string)
	if s == "" {
		return errors.New("String may not be empty")
	}
	if strings.ContainsFunc(s, unicode.IsControl) {
		return errors.New("String may not contain control sequences")
	}
	return nil
}

func legalRegex(v any) error {
	s, _ := v.(string)
	if s == "" {
		return nil
	}
	_, err := regexp.Compile("^(?:" + s + ")$")
	return err
}

// sinkProblems are what single keys cannot tell: exactly one of topics and topics.regex, and no loop through the dead
// letter queue.
func sinkProblems(cfg map[string]string, workerGroup string) map[string][]string {
	out := map[string][]string{}
	topics, regex := kafka.SplitList(cfg["topics"]), cfg["topics.regex"]
	both := func(msg string) {
		out["topics"] = append(out["topics"], msg)
		out["topics.regex"] = append(out["topics.regex"], msg)
	}
	switch {
	case len(topics) > 0 && regex != "":
		both("topics and topics.regex are mutually exclusive options, but both are set.")
	case len(topics) == 0 && regex == "":
		both("Must configure one of topics or topics.regex")
	}
	if dlq := cfg["errors.deadletterqueue.topic.name"]; dlq != "" {
		re, err := regexp.Compile("^(?:" + regex + ")$")
		if slices.Contains(topics, dlq) || regex != "" && err == nil && re.MatchString(dlq) {
			both(fmt.Sprintf("The DLQ topic '%s' may not be among the topics the sink reads: it would read its own failures.", dlq))
		}
	}
	if group := consumerGroup(cfg["name"], cfg); group == workerGroup {
		out["name"] = append(out["name"], fmt.Sprintf("Consumer group %s would be that of the workers themselves: choose another name.", group))
	}
	return out
}
