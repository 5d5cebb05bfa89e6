// Package rest serves the REST interface of Kafka Connect over HTTP (gin), with health and metrics beside it. It turns
// requests into calls of the Worker interface it declares and answers into JSON; it decides nothing.
//
// Where Kafka Connect's answers hurt its users ours differ and stay compatible: malformed JSON is 400 with line and
// column (not 500), reads never answer 500 because of a rebalance.
//
// Invariants
//
//	I1  Every error is {"error_code", "message"} with the same HTTP status.
//	I2  A call that changes something is refused when a browser sends it from another origin.
//	I3  A request's body, headers and time are bounded.
package rest
