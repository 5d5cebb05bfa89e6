package plugins

import "strings"

// javaClass is what a class name of the Java world means here, and the task class a Java worker needs in stored task
// configurations to take over.
type javaClass struct {
	connector string
	task      string
}

// javaClasses holds the well-known names, without their packages beside it in shortNames.
var javaClasses = map[string]javaClass{
	"io.debezium.connector.mysql.MySqlConnector":                    {"mysql", "io.debezium.connector.mysql.MySqlConnectorTask"},
	"io.debezium.connector.mariadb.MariaDbConnector":                {"mysql", "io.debezium.connector.mariadb.MariaDbConnectorTask"},
	"io.confluent.connect.elasticsearch.ElasticsearchSinkConnector": {"elasticsearch", "io.confluent.connect.elasticsearch.ElasticsearchSinkTask"},
	"io.aiven.connect.elasticsearch.ElasticsearchSinkConnector":     {"elasticsearch", "io.aiven.connect.elasticsearch.ElasticsearchSinkTask"},
	"io.aiven.connect.opensearch.OpensearchSinkConnector":           {"elasticsearch", "io.aiven.connect.opensearch.OpensearchSinkTask"},
	"org.apache.kafka.connect.file.FileStreamSourceConnector":       {"file-source", "org.apache.kafka.connect.file.FileStreamSourceTask"},
	"org.apache.kafka.connect.file.FileStreamSinkConnector":         {"file-sink", "org.apache.kafka.connect.file.FileStreamSinkTask"},
	"io.confluent.connect.s3.S3SinkConnector":                       {"lake", "io.confluent.connect.s3.S3SinkTask"},
	"io.aiven.kafka.connect.s3.AivenKafkaConnectS3SinkConnector":    {"lake", "io.aiven.kafka.connect.s3.S3SinkTask"},
}

// canonical gives our name for a class as a user may write it: our own, a Java one with or without its package, and with
// or without "Connector" behind it. A name it does not know is given back as it is.
func canonical(class string) string {
	if j, ok := javaClasses[class]; ok {
		return j.connector
	}
	for full, j := range javaClasses {
		simple := simpleName(full)
		if class == simple || class == strings.TrimSuffix(simple, "Connector") {
			return j.connector
		}
	}
	return class
}

// TaskClass is what is stored as task.class beside a task's configuration.
func TaskClass(class string) string {
	for full, j := range javaClasses {
		simple := simpleName(full)
		if class == full || class == simple || class == strings.TrimSuffix(simple, "Connector") {
			return j.task
		}
	}
	for _, full := range []string{ // our own names: the usual Java task
		"io.debezium.connector.mysql.MySqlConnector", "io.confluent.connect.elasticsearch.ElasticsearchSinkConnector",
		"org.apache.kafka.connect.file.FileStreamSourceConnector", "org.apache.kafka.connect.file.FileStreamSinkConnector",
		"io.confluent.connect.s3.S3SinkConnector",
	} {
		if javaClasses[full].connector == class {
			return javaClasses[full].task
		}
	}
	return class
}

func simpleName(full string) string { return full[strings.LastIndexByte(full, '.')+1:] }
