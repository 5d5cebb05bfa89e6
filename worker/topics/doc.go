// Package topics keeps the three internal topics of a worker group, config, offset and status, in the formats of Kafka
// Connect (org.apache.kafka.connect.storage.KafkaConfigBackingStore, KafkaOffsetBackingStore, KafkaStatusBackingStore),
// so that a Java worker can take over and hand back.
//
// It owns what records mean and the local views built from them. It decides nothing: who may write is the herder's
// business.
//
// Invariants
//
//	I1  A set of task configurations is applied by its commit record alone, whole or not at all.
//	I2  Reads come from the local view and never wait; a write that returned nil is in the view.
//	I3  Offset keys keep the bytes they were first written with: compaction works on bytes.
//	I4  Unknown keys and unknown JSON members are ignored, never an error: newer workers may write them.
package topics
