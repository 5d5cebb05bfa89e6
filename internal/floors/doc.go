// Package floors guards the import rules of the house (DESIGN.md, "The house"): a package imports only from floors
// below its own, packages of one folder keep their order, and some modules are banned for what they cost. It holds
// a test and nothing else.
package floors
