// Command plugin is the connector plugin penstock-connector-elasticsearch: the Elasticsearch and OpenSearch sink.
package main

import (
	"github.com/penstockio/penstock/connect-api/serve"
	"github.com/penstockio/penstock/connectors/elasticsearch"
)

func main() { serve.Main(elasticsearch.Sink) }
