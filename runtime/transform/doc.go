// Package transform holds the single message transforms and predicates of Kafka Connect that run between connectors and
// converters, under their Java class names, and the chain that applies them.
//
// Transforms work on encoded values: a field is found, taken out or added by skipping and splicing bytes, never by
// decoding a whole record. Values without a schema (JSON text) are handled too.
//
// Invariants
//
//	I1  A transform changes the Record it is given, never the bytes its values point to.
//	I2  A record a transform cannot handle is a data error that names the transform; it is never dropped silently.
//	I3  Where a record came from (Origin) outlives every transform.
package transform
