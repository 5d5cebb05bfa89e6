// Package topic owns topics: their names, ids, settings and the mapping of partitions to the store's queues.
//
// It never touches records, and knows nothing of connections. A topic's truth is its last frame of kind KindTopic in
// the log; the index holds the same bytes under PrefixTopic, and memory holds the decoded form.
//
// Invariants:
//
//	I1  A queue id is given once, also across deletion and restart: the next free id is a counter in the index that no
//	    frame lowers.
//	I2  A topic and its queues are one append group: after a crash both are there or neither. So are all topics of one
//	    request, up to a bound; what is beyond it shares the syncs.
//	I3  A topic becomes visible to readers when its frame is durable, never before.
//	I4  Decisions are made one at a time, from the opening of a decision to its durable end, so a decision never sees a
//	    half-made one. Readers never wait for deciders.
//	I5  Settings and fields this version does not know are kept, byte for byte, through every change.
//
// Lock order: the decider's slot, then mu. Nothing waits for the log while mu is held.
package topic
