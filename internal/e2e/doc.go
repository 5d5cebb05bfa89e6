// Package e2e holds the suites that run whole servers: `penstock server` with its plugins in processes of their own, real
// databases beside it, and SIGKILL. Each looks at the far end: the sink's file, the broker's records, the database itself.
//
// make integration runs them, without the race detector; make chaos the one that kills the server while a database changes, and the
// one that kills, stops and terminates workers of a group (PENSTOCK_CHAOS says how long, PENSTOCK_TEST_SEED repeats one).
package e2e
