// Package group keeps a worker's membership in its group through the broker's group coordinator, protocol type
// "connect", with the incremental protocols of Kafka Connect ("sessioned" and "compatible", KIP-415 and KIP-507).
//
// It owns joining, heartbeats, the leader's assignment (computed by worker/assign) and the encodings. It never starts
// or stops work: the herder does, told by the two callbacks.
//
// Invariants
//
//	I1  Assigned and Lost are called from one goroutine, one at a time; the member does not rejoin before Assigned returned.
//	I2  After Lost the worker holds nothing: a membership that ended never speaks for work again.
//	I3  A member that cannot reach the coordinator for a session counts itself out by its own monotonic clock.
package group
