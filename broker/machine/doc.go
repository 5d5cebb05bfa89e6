// Package machine owns what the payloads of all machine frames share: one byte, the machine's version, then a protobuf
// message whose fields are written by hand with protowire, and the stream a machine's index keys are snapshot into.
//
// It knows no machine and no kind of frame.
package machine
