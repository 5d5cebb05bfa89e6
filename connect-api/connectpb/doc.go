// Package connectpb is the wire between a worker and a plugin: the messages generated from connect.proto, and a gRPC codec
// that carries batches of rows in pooled buffers without copying them into messages.
//
// It owns the protocol's bytes. It knows nothing of processes, tasks or Kafka.
//
// Invariants
//
//	I1. The bytes of a [Frame] are those of the message it stands for: a peer with an ordinary protobuf codec reads and writes them.
//	I2. Rows handed to a Frame for sending belong to the codec from then on; rows of a received Frame belong to it until Release.
package connectpb

//go:generate ./generate.sh
