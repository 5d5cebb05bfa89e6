// Package shared is memory that a worker and a plugin both see: the rows of a batch that is on its way to a sink are written once,
// where the plugin reads them, and a message of the stream names the place.
//
// It owns the file behind the memory, which has no name and lives as long as somebody maps it, and its division into slots of one
// size. Who may touch a slot when is the protocol's business (connectpb): the two ends never touch one at the same time, and a
// message between them orders what they do.
//
// Invariants
//
//	I1. The file's size is sealed: touching what is mapped never meets its end.
//	I2. The worker's end is unmapped when nothing points to it any more, so that a slice of a slot that somebody still has is
//	    never a wild pointer; the plugin's end when the stream is over, by Close.
//	I3. A slot takes memory only from when it is first written to, until Discard.
package shared
