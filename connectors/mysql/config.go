package mysql

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	connectapi "github.com/penstockio/penstock/connect-api"
)

// Version is the connector's; sourceVersion is what stands in events, the Debezium release whose envelope we write.
const (
	Version       = "1.0.0"
	sourceVersion = "3.6.1.Final"
)

// Config holds the keys, Debezium's names.
type Config struct {
	Class    string `connect:"connector.class,internal,default=" doc:"Class the connector was made with."`
	Host     string `connect:"database.hostname,required" doc:"Host of the server."`
	Port     int32  `connect:"database.port,default=3306,min=1,max=65535" doc:"Port of the server."`
	User     string `connect:"database.user,required" doc:"User with SELECT, RELOAD, REPLICATION SLAVE and REPLICATION CLIENT."`
	Password string `connect:"database.password,default=,secret" doc:"Password of the user."`
	ServerID int64  `connect:"database.server.id,default=0,min=0,max=4294967295" doc:"Our replica id, unique among the server's replicas; 0: a random one at each start."`
	SSLMode  string `connect:"database.ssl.mode,default=preferred,importance=medium" doc:"disabled, preferred, required, verify_ca or verify_identity; MariaDB's words are taken too."`
	CA       string `connect:"database.ssl.ca,default=,importance=low" doc:"PEM file of the authority that signed the server's certificate."`

	Prefix string `connect:"topic.prefix,required" doc:"Logical name of the server: topics are <prefix>.<database>.<table>. Changing it makes a new connector."`

	DatabaseInclude []string `connect:"database.include.list,default=,importance=medium" doc:"Regular expressions of databases to capture."`
	DatabaseExclude []string `connect:"database.exclude.list,default=,importance=medium" doc:"Regular expressions of databases not to capture."`
	TableInclude    []string `connect:"table.include.list,default=,importance=medium" doc:"Regular expressions of database.table to capture."`
	TableExclude    []string `connect:"table.exclude.list,default=,importance=medium" doc:"Regular expressions of database.table not to capture."`
	ColumnInclude   []string `connect:"column.include.list,default=,importance=medium" doc:"Regular expressions of database.table.column to send in values."`
	ColumnExclude   []string `connect:"column.exclude.list,default=,importance=medium" doc:"Regular expressions of database.table.column not to send in values."`

	SnapshotMode string `connect:"snapshot.mode,default=initial,importance=medium" doc:"initial, initial_only, no_data, when_needed or always."`
	LockTimeout  int64  `connect:"snapshot.lock.timeout.ms,default=10000,min=1000,importance=low" doc:"How long a snapshot waits for its lock (ms); MariaDB needs none."`

	Decimal    string `connect:"decimal.handling.mode,default=precise,importance=medium" doc:"precise (Decimal), double or string."`
	BigintU    string `connect:"bigint.unsigned.handling.mode,default=long,importance=medium" doc:"long (values from 2^63 come out negative) or precise (Decimal)."`
	Time       string `connect:"time.precision.mode,default=adaptive_time_microseconds,importance=medium" doc:"adaptive_time_microseconds or connect."`
	Binary     string `connect:"binary.handling.mode,default=bytes,importance=low" doc:"bytes, base64, base64-url-safe or hex."`
	Tombstones bool   `connect:"tombstones.on.delete,default=true,importance=medium" doc:"Whether a delete event is followed by a tombstone."`
	Skipped    string `connect:"skipped.operations,default=t,importance=low" doc:"Of c, u, d and t (truncate), or none: operations that are not sent."`

	HistoryTopic string `connect:"schema.history.internal.kafka.topic,default=,importance=low" doc:"Topic of the schema history; default <prefix>.schema-history."`

	ConnectTimeout int64 `connect:"connect.timeout.ms,default=30000,min=100,importance=low" doc:"How long a connection may take (ms)."`
	KeepAlive      int64 `connect:"connect.keep.alive.interval.ms,default=60000,min=1000,importance=low" doc:"Silence after which the connection to the log counts as dead (ms)."`
}

// Source is the connector.
var Source = connectapi.Source[Config]{
	Info: connectapi.Info{
		Name: "mysql", Version: Version,
		Doc:     "Captures row changes of MySQL and MariaDB: a snapshot, then the binary log.",
		Aliases: []string{"io.debezium.connector.mysql.MySqlConnector", "io.debezium.connector.mariadb.MariaDbConnector"},
		Metrics: []connectapi.Metric{
			{Name: "snapshot_rows", Counter: true, Help: "Rows read by the snapshot."},
			{Name: "seconds_behind_source", Unit: "seconds", Help: "Age of the last event when it was read."},
		},
	},
	Validate: validate,
	Tasks:    connectapi.OneTask[Config],
	// Positions stand at transaction ends. A snapshot that is broken off begins anew, as Debezium's does.
	ExactlyOnce: func(Config) bool { return true },
	Open: func(ctx context.Context, cfg Config, t connectapi.SourceContext) (connectapi.SourceTask, error) {
		return open(ctx, cfg, t)
	},
}

func (c *Config) addr() string { return net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port))) }

func (c *Config) connectTimeout() time.Duration {
	return time.Duration(c.ConnectTimeout) * time.Millisecond
}

func (c *Config) historyTopic() string {
	if c.HistoryTopic != "" {
		return c.HistoryTopic
	}
	return c.Prefix + ".schema-history"
}

// snapshotMode gives the mode under its present name.
func (c *Config) snapshotMode() string {
	if c.SnapshotMode == "schema_only" {
		return "no_data"
	}
	return c.SnapshotMode
}

// static checks what needs no server.
func (c *Config) static() error {
	var errs []error
	one := func(key, value string, of ...string) {
		for _, o := range of {
			if value == o {
				return
			}
		}
		errs = append(errs, connectapi.ConfigError(key, fmt.Errorf("Invalid value %s for configuration %s: must be one of %s", value, key, strings.Join(of, ", "))))
	}
	one("snapshot.mode", c.snapshotMode(), "initial", "initial_only", "no_data", "when_needed", "always")
	one("decimal.handling.mode", c.Decimal, "precise", "double", "string")
	one("bigint.unsigned.handling.mode", c.BigintU, "long", "precise")
	one("time.precision.mode", c.Time, "adaptive_time_microseconds", "connect")
	one("binary.handling.mode", c.Binary, "bytes", "base64", "base64-url-safe", "hex")
	one("database.ssl.mode", c.SSLMode, "disabled", "disable", "preferred", "required", "trust", "verify_ca", "verify-ca", "verify_identity", "verify-full")
	if c.Prefix == "" || strings.ContainsFunc(c.Prefix, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-'
	}) {
		errs = append(errs, connectapi.ConfigError("topic.prefix", fmt.Errorf("Invalid value %q for configuration topic.prefix: letters, digits, '.', '_' and '-' only, since topics begin with it", c.Prefix)))
	}
	if _, err := newFilter(c); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// sourceName is what events call the connector: the class the user named, else the server. Our own name
// follows the server.
func (c *Config) sourceName(flavor string) string {
	switch {
	case strings.HasSuffix(c.Class, "MariaDbConnector"):
		return "mariadb"
	case strings.HasSuffix(c.Class, "MySqlConnector"):
		return "mysql"
	}
	return flavor
}
