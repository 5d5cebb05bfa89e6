// Package kafka makes the Kafka clients of a worker: their addresses, security, limits and what users may override of
// them. It is the only place that makes one.
//
// It owns the mapping from Kafka's configuration keys to client options, the memory consumers decode records into, how often
// a client tries to reach a broker that is down and says so, and creates topics. It never reads or writes records itself:
// tasks, and runtime/kafka/table, do that with the clients made here.
//
// Invariants
//
//	I1  A client never decompresses a batch to more than MaxDecompressed bytes: a broker cannot make a worker run out of memory.
//	I2  A password never stands in an error or a log line of this package.
package kafka
