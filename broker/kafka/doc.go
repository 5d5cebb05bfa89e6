// Package kafka owns the wire: listeners' connections, framing, the table of request keys, and one file a family of
// requests. It decodes, asks the coordinators and the store, and encodes; it decides nothing that must survive.
//
// Each connection has three goroutines: one reads frames, one handles them in order, one writes answers in order.
// Produce and OffsetCommit are begun in order and end in the writer, so several are under way at once; everything else
// ends in the handler, so a parked Fetch or JoinGroup holds back later requests of its connection, as in Kafka.
//
// Invariants:
//
//	I1  Answers leave a connection in the order of its requests.
//	I2  A request that can't be decoded, has an unknown key or a version that isn't advertised ends its connection and
//	    nothing else. The one negotiation is ApiVersions (KIP-511).
//	I3  Everything a peer can make grow has a bound: connections, frame size, requests and bytes under way, an answer's
//	    bytes, time without a byte, lines logged about requests that can't be decoded.
//	I4  Every handler asks allow before it shows or changes a thing; throttling happens in one place.
//	I5  Arrays and bytes are answered empty, never null, unless null has a meaning: librdkafka and Java fail on null.
package kafka
