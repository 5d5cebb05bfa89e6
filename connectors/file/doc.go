// Package file holds two connectors: file-source reads a text file line by line, as Kafka Connect's FileStreamSource does,
// and file-sink appends records to a file, one a line, as FileStreamSink does.
//
// It owns how lines are found, followed and written. It knows nothing of processes and Kafka: package serve drives it.
//
// # Source
//
// A line ends with LF or CRLF; a last line without one waits for it. The value is the line as a string, each byte that is
// no UTF-8 replaced by U+FFFD; there is no key. Positions are those Kafka Connect's source writes: partition
// {"filename":path}, offset {"position":bytes}, so an existing Kafka Connect cluster's offsets go on.
//
// The file may come later, and is followed: the kernel tells of changes (Linux; elsewhere, and on file systems that do not
// tell, it is looked at every second). A file that becomes shorter than the position was truncated and is read again from
// its start. A file that is replaced under its name (rotation) is read to its end, its last line as it stands, then the new
// one from its start. What happens to a file while no task runs can only be told by its length: a file rotated then, whose
// successor is longer than the position, is read from the position on.
//
// # Sink
//
// A value stands in its text form (null as null). Lines are written whole, and are on disk when Commit returns: offsets
// never pass lines that are not (at least once: after a crash the lines since the last commit come again). A line a crash
// tore is ended by a newline at the next start, and its record is written again.
//
// # Invariants
//
//	I1. A position stands behind the end of a line, never inside one.
//	I2. No line is sent before its end was seen, but for the last of a file that was replaced.
//	I3. An offset is committed only after the fsync of its line.
package file
