// Package api holds the shapes of the REST interface, its error type and a typed client. The server, workers that call
// each other and the command line share it; together with connect-api it is what Penstock promises to others.
//
// Shapes and field order are Kafka Connect's (KAFKA docs, "Kafka Connect REST API"). The package decides nothing and
// imports nothing of ours.
package api
