// Package levels holds the levels of the node's loggers, which can be changed while it runs (Kafka Connect's KIP-495 and
// KIP-976).
//
// A logger's name is the attribute "logger" of its lines: log.With("logger", "worker.group"). So a package of any floor names
// its own without importing this one. Names form a tree by their dots under "root"; a connector's is "connector." and its
// name. A logger without a level of its own has its nearest ancestor's.
//
// It never writes a line itself, and nothing of it outlives the process.
//
// Invariants
//
//	I1  Asking whether a line is wanted takes no lock and allocates nothing.
//	I2  What it holds is bounded, whatever names it is asked to take.
package levels
