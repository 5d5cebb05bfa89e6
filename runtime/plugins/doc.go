// Package plugins finds connector plugins in the folders of plugin.path and starts their processes.
//
// A plugin is any executable regular file directly in such a folder. It is asked once for its description, which is kept
// by path, size and modification time; folders are looked at again every second and when a class is not known, so a
// plugin can be added while the worker runs. The package owns the folder for plugin sockets and the table of Java class
// names; it never keeps a process alive or restarts one: who starts a process stops it.
//
// Invariants
//
//	I1  Plugins are started by one function, Start.
//	I2  A file that is no plugin, or a broken one, never hides the others: its error stands in Problems and in the answer to a class it may have held.
package plugins
