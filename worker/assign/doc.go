// Package assign decides which member of a worker group runs which connectors and tasks. It is a pure function of the
// members' present work and the configured work: no clock, no state, no I/O.
//
// The protocol is Kafka Connect's incremental cooperative rebalancing (KIP-415): an assignment tells a member what to
// add and what to give up; work that moves is given up in one round and handed out in the next, which follows at once.
//
// Invariants
//
//	I1  No unit of work is given to a member while another still holds it.
//	I2  A unit stays where it is unless its member is overloaded, it was deleted, or two members hold it.
//	I3  Connectors and tasks are balanced separately: counts differ by at most one once no round is left, or with weights
//	    no move of one task would bring two members closer.
//	I4  The same input gives the same output.
//	I5  What has to move is what its member got last, so work that a member took over for another goes back to that one
//	    when it returns, and work that was at home stays.
package assign
