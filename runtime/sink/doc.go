// Package sink runs sink tasks: records from topics through converters and transforms into a plugin, and consumer
// offsets behind what the plugin calls durable.
//
// A task is a data goroutine (poll, convert, transform, send), an events goroutine (what the plugin says) and a control
// goroutine (commits). Partition moves come from the group and wait for the plugin to let go.
//
// Invariants
//
//	I1  Only offsets the plugin called durable are committed, and none that passes a failed record before the error policy decided over it.
//	I2  Before partitions move, and at a clean stop, the plugin is flushed and its offsets are committed.
//	I3  Records in memory are bounded by the plugin's credit, one batch and the client's fetch buffers.
//	I4  Order is kept within a partition.
//	I5  A record that was read is not touched behind the end of its poll: its memory is used again.
package sink
