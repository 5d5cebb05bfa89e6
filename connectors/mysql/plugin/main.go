// Command penstock-connector-mysql is the MySQL and MariaDB source connector as a plugin.
package main

import (
	"github.com/penstockio/penstock/connect-api/serve"
	"github.com/penstockio/penstock/connectors/mysql"
)

func main() { serve.Main(mysql.Source) }
