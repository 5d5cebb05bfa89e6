// Package mysql is the MySQL and MariaDB source connector: a consistent snapshot, then the binary log from exactly where
// the snapshot stood, as change events in Debezium's envelope.
//
// It owns the connections, the schema history and the conversion of column values. Schemas of old events never come from
// information_schema: they come from the connector's own history topic, and every TABLE_MAP proves them.
//
// Invariants
//
//	I1  A position is given out at the end of a transaction only (of the whole snapshot, for its rows), so a restart repeats events and never loses one.
//	I2  A value is encoded by one function whether it comes from the snapshot or from the log.
//	I3  A schema change is in the history topic before any row that needs it.
//	I4  One task, one connection to the log, strict order.
//	I5  Passwords and statements that may hold one are never logged, stored or sent.
package mysql
