// Package table keeps a compacted topic as a table: everything in it is applied in log order, live, and a reader can
// wait until all that was written before now has been applied.
//
// It owns the topic's creation and the check of its cleanup policy, one consumer and one producer. What a record means
// is the caller's business, given as Apply.
//
// Invariants
//
//	I1  Apply runs on one goroutine, in offset order within a partition, each record once per Open.
//	I2  When ReadToEnd returns nil, every record that was durable when it was called has been applied.
//	I3  Write returns nil only when every record is durable; records of one call keep their order within a partition.
//	I4  Every call ends with its context, whatever the broker does. A write that was cut off by it is not sent again: it has
//	    been stored by then, or is on a connection's way to the broker, or never will be; what is written later comes behind it.
package table
