// Package connectapi is what a connector is written against: the record and schema model of Kafka Connect, the codec of
// rows, configuration definitions, and the Source and Sink a plugin hands to serve.Main.
//
// It owns
//   - [Schema] and the Go form of its values ([Struct], [Decimal], slices, maps, numbers, strings),
//   - the bytes of values and rows (Append…, [Reader], [Value], [Writer], [Rows]), so that a field is found, dropped or
//     spliced by skipping and nothing is decoded that nobody looks at,
//   - [ConfigDef]: Kafka Connect's configuration definitions, also made from struct tags,
//   - [Source], [Sink] and the contexts, batches and records their tasks see.
//
// It never talks to a network, never starts a process, and imports the standard library only.
//
// # Values
//
// The Go form of a Connect value is int8, int16, int32, int64, float32, float64, bool, string, []byte, []any,
// map[string]any (string keys) or map[any]any, *[Struct], and nil for null. Logical types decode to their base (a Date to
// int32 days); [Logical] turns them into [Decimal] or time.Time, and encoding takes either form.
//
// # Bytes of a value
//
// A value at the root, as [Value] holds it: bytes and strings are themselves, a value without a schema is JSON text, all
// else follows Avro's binary rules under the Connect schema: integers are zigzag varints, floats little-endian IEEE 754,
// a boolean is one byte, bytes and strings inside others carry a zigzag length, an optional value inside others is a
// union [null, T] (index 0 or 1 as zigzag), arrays and maps are blocks, a struct is its fields in order. A null at the
// root has no bytes: the row says so.
//
// # Invariants
//
//	I1. A Schema never changes after Build; its identity (Fingerprint) is computed once.
//	I2. Decoding never panics and never allocates more than a constant factor of its input, whatever the bytes.
//	I3. Filling a Batch with rows allocates nothing per record once its buffers have grown.
//	I4. A Batch never holds half a row: a row that fails to encode leaves no byte behind.
//	I5. Slices handed out by Reader, Value, Rows and Record point into the batch: they are valid until it is released.
//	I6. No secret stands in an error or a printed configuration: Password prints as [hidden].
package connectapi
