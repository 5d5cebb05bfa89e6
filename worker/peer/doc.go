// Package peer is how workers of a group talk to each other beside the REST interface users see: calls signed with the
// group's session key, as Kafka Connect's "sessioned" protocol does (KIP-507).
//
// It owns signatures (inter.worker.*) and the one call a worker makes of another, handing over a connector's tasks. It neither knows who
// leads nor where the key comes from.
package peer
