// Package herder decides what runs on this node, and answers for the node: what Kafka Connect calls DistributedHerder. It
// holds the node's share of the group's work, brings the runners into line with configuration and assignment, writes
// states, and serves the calls behind the REST interface.
//
// Reads come from local views and never wait. Writes go to the config topic and return when the local view has them.
//
// Invariants
//
//	I1  One goroutine decides: what is owned, which runner wants what. It never waits for a topic, a plugin or a peer.
//	I2  A unit runs here only while the group's last assignment gives it to this node.
//	I3  Configuration is written by one writer at a time, after validation; a second create of a name is refused.
//	I4  States are written in order per unit, the newest winning; a slow status topic never slows the decisions.
//	I5  Tasks start after a round that every worker joined when those of the set before had stopped there (see settle.go).
package herder
