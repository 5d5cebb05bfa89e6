// Command plugin is the connector plugin penstock-connector-file: file-source and file-sink.
package main

import (
	"github.com/penstockio/penstock/connect-api/serve"
	"github.com/penstockio/penstock/connectors/file"
)

func main() { serve.Main(file.Source, file.Sink) }
