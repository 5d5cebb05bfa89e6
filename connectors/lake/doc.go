// Package lake is the sink connector lake: it writes the records of topics into Parquet files in a local folder or an
// S3-compatible object store, one folder a table.
//
// It owns the layout of the lake, when files end, and how values become columns. It knows nothing of Kafka and processes:
// package serve drives it.
//
// # Layout
//
// A file is {topic}/{encoded partition}/{topic}+{kafka partition}+{first offset, 10 digits}.parquet below the location.
// The folder is named by the topic a record was routed to, the file by the topic it was consumed from. The encoded
// partition comes of partitioner.class. Names and values in it are percent-encoded, so no path leaves the location.
//
// A row holds the value's fields, then __topic, __partition and __offset: where the record was consumed. Those three
// tell rows apart; a reader that must not see a row twice takes one of each.
//
// A struct is a column a field, nested ones included. Any other value is one column "value", a value without a schema its
// JSON text. A tombstone (null value) is left out, fails, or, with behavior.on.null.values=write, is a row of the folder
// {topic}/tombstone with the column "key", the key's text.
//
// # Types
//
// Integers, floats, booleans, strings, bytes, arrays, maps and structs are Parquet's; a struct without fields is the text
// {}. Decimals are DECIMAL with the precision of connect.decimal.precision, else 38; above 38 digits a string. Dates are
// DATE; times are TIME in microseconds (time.type=micros: plain integers, for MySQL's TIME beyond a day); Kafka Connect's
// Timestamp and Debezium's ZonedTimestamp are TIMESTAMP(MICROS, UTC), Debezium's Timestamp and MicroTimestamp
// TIMESTAMP(MICROS) of no zone, NanoTimestamp and NanoTime in nanoseconds; io.debezium.data.Json is JSON. What a column
// cannot hold (a decimal of too many digits, a time beyond a day, a string that is no UTF-8, a null where none may be)
// fails the record and is never changed into something else.
//
// # When files end
//
// All open files of a topic partition end together: by rows (flush.size), by bytes (rotate.bytes, of encoded keys and
// values before compression), by record time (rotate.interval.ms), by the clock (rotate.schedule.interval.ms,
// rotate.idle.ms), when more files or memory than allowed are in use, and when everything must be durable. Records of
// several schemas or partition values stand in files open side by side, so that interleaved versions make no small files.
//
// # Replay
//
// Offsets are reported once the files below them are published. After a crash, records of files that were published and
// not reported come again. Before a file is begun its name is looked up: rows whose offsets a file of that name holds are
// not written again. If a file of the name appears only while ours is written (another writer lives), ours is published
// as …+{first offset}-{last offset}.parquet: nothing is overwritten and nothing lost, and the three columns tell which
// rows are the same.
//
// # Invariants
//
//	I1. A name ending in .parquet is a whole file: it is published by one link, rename or PUT, after its last byte is durable.
//	I2. A published file is never changed, replaced or removed.
//	I3. An offset is reported only when every row below it is published, failed or left out by configuration.
//	I4. No path escapes the location, whatever topics, fields and values are called.
//	I5. A row is written whole or not at all: a value that cannot be written leaves nothing in any column.
//	I6. Bytes of a batch are copied into column buffers before Write returns.
package lake
