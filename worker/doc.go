// Package worker makes a node part of a worker group: it opens the internal topics, joins the group through the broker,
// and runs the herder that decides. It works the same over the bundled broker and over a Kafka cluster; a single node is a
// group of one.
//
// It owns the order in which the parts start and stop, and the worker's configuration. Kafka Connect's words: our runtime
// is its Worker class, our worker its DistributedHerder.
package worker
