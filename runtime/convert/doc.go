// Package convert turns record keys, values and headers into the bytes that stand in Kafka topics and back: Kafka
// Connect's converters, under their Java class names.
//
// Converters pass through or transcode between Penstock's row codec and the wire; nothing is decoded into Go values on
// the way out. A converter is made for one task and used by one goroutine.
//
// Invariants
//
//	I1  A value that cannot be converted is a data error that says what was wrong; it never panics and never loses bytes silently.
//	I2  A null value without a schema is a tombstone in every converter, both ways.
//	I3  What Encode returned is valid until the next call.
package convert
