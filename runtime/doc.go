// Package runtime runs connectors on this node: what Kafka Connect calls its Worker class. For each connector that has
// work here, a Runner brings what runs into line with what is desired: a plugin process, the connector itself (which
// splits the work into tasks), and tasks.
//
// It owns processes, tasks and their states. It decides nothing about the group: which units run here, and what their
// configurations are, is given by its caller; states and new task configurations are handed back through callbacks.
//
// Invariants
//
//	I1  One goroutine a connector changes what runs; it never waits for a plugin but to stop a task, with a deadline.
//	I2  A plugin process that dies fails all that ran in it, with its reason, and is started again with backoff.
//	I3  After Close no process, task or goroutine of a connector is left.
//	I4  A failure of one connector never touches another.
package runtime
