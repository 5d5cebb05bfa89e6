// Package source runs source tasks: batches from a plugin through transforms and converters into topics, and positions
// into the offset topic behind them.
//
// A task is two goroutines: data (receive, transform, convert, produce) and control (positions, acks); one that writes exactly
// once is data alone, as its positions go with the rows. The package owns
// their loops; which task runs when, and with what client, its caller decides.
//
// Invariants
//
//	I1  A position is written only when every earlier row of its task is acknowledged by the broker, or the error policy released it.
//	I2  The plugin is acknowledged only after the position is durable.
//	I3  Rows in memory are bounded by the credit of the stream: it returns when rows are safe in Kafka.
//	I4  Rows of one task are produced in the order they came.
//	I5  Positions go through a producer whose transactional id is the task's own. Whoever opens the task takes that id before it reads
//	    the positions, so an earlier incarnation, wherever it runs, writes no position any more.
//	I6  An exactly-once task ends a transaction only where a position stands behind every row in it.
package source
