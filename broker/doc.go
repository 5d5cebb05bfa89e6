// Package broker is the bundled broker: a Kafka-speaking server over one log and one index in one data directory.
//
// It composes the packages below it, owns their configuration, the listeners and the connection inside the process, and
// the order of start and stop. It holds no state of its own.
//
// Start: take the data directory, bind the listeners, register the machines, replay the log, accept. Stop: refuse new
// requests, answer those under way, stop group timers, close the store.
package broker
