// Package serve is the plugin's end of the wire: a plugin's main calls [Main] with its connectors and has nothing else to do.
//
// It owns the process: stdout, signals, the gRPC server and the loops that drive tasks: reading and batching, credit, acks,
// retries, stop. It knows no connector and no Kafka.
//
// Invariants
//
//	I1. Nothing but the handshake reaches the host's stdout pipe: stdout is taken away before main runs.
//	I2. A position is acknowledged to a task only after the host said it is durable, and in order.
//	I3. Stop waits for the last ack, or its deadline; it never waits for another record to come.
//	I4. A panic in a task's method is that task's failure, with its trace; other tasks of the process go on.
//	I5. Memory is bounded: at most two batches are filled ahead of the host's credit.
//	I6. The process ends when its host does.
//	I7. A slot of shared memory is granted again only when nothing of its rows is needed; rows that a task keeps are copied, or their
//	    slot is never granted again.
package serve
