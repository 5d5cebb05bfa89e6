// Package group owns consumer groups of the classic protocol, whatever their protocol type, and committed offsets.
//
// It never looks into what members tell each other, but for the subscription of type "consumer" when offsets are to be
// deleted. The truth is frames of kind KindGroup (a group's last finished generation) and KindOffset (commits and
// deletions of offsets); the index holds them under PrefixGroup and PrefixOffset.
//
// Invariants:
//
//	I1  An assignment is durable before anyone is told of it; a newer generation meanwhile voids it.
//	I2  A committed offset is durable before the commit is answered, and all offsets of one commit are one frame.
//	I3  Of two commits of one partition the one appended later stands, whichever is answered first.
//	I4  Timers run on the monotonic clock: a suspended machine or a moved wall clock expires nobody.
//	I5  A member whose request is parked does not expire; one that is merely slow to sync does.
//	I6  Offsets committed through a transaction are durable when that is answered, and nobody sees them before the
//	    transaction's end, which decides on all of them at once.
//	I7  Members that joined over the connection inside the process died with it: a restart restores all others, with
//	    fresh session timers.
//
// Lock order: a group's mu, then the coordinator's. Appends happen under a group's mu, so that the log has a group's
// frames in the order of its decisions; nothing waits for a ticket under a lock.
package group
