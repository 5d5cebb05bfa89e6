// Command plugin is the connector plugin penstock-connector-lake.
package main

import (
	"github.com/penstockio/penstock/connect-api/serve"
	"github.com/penstockio/penstock/connectors/lake"
)

func main() { serve.Main(lake.Sink) }
