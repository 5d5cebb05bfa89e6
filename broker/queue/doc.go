// Package queue is the state of queues in memory: where each begins and ends, its policy, its open transactions, and the
// last batches of idempotent producers.
//
// It decides whether a batch fits its producer's sequence. It knows no log, no index and no topic.
//
// Invariants:
//
//	I1. An idle queue costs its slot in a table without pointers: no goroutine, timer or channel.
//	I2. LogStart <= LastStable <= HighWatermark <= Next, and none of them goes back.
//	I3. A producer's window holds its last five batches as a whole, also over a restart: losing one of them would make
//	    a retry a duplicate.
//	I4. A queue without an open transaction costs nothing for transactions.
package queue
