// Package deploy holds what runs Penstock on a machine: a systemd unit and the configuration beside it. It has no code but
// the test that holds them against the binary.
package deploy
