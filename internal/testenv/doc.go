// Package testenv starts real servers for tests, MariaDB, Elasticsearch, Kafka's tools and Penstock itself, on free
// ports of 127.0.0.1 and in temporary folders, and stops them. One start serves all tests of a package; Main stops what is
// left. A server that is not installed fails the test with "run make deps", it never skips it; go test -short leaves
// servers out.
//
// It is used by tests, benchmarks and the demo alone.
package testenv
