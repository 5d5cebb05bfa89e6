// Package providers resolves references in configurations, ${provider:path:key} or ${provider:key}, as Kafka's config
// providers do (KIP-297): from properties files, from the files of a folder, and from the environment.
//
// A configuration is kept, and shown, with its references; what they stand for exists only where a plugin or client is made
// with it. Resolved therefore also hides values in texts for people, and puts references back into what a plugin derived.
//
// It never writes, and it reads a value anew each time.
//
// Invariants
//
//	I1  An error names the configuration's key, the reference and what is missing, and never a value.
//	I2  A provider reads nothing outside its allowed paths or names, through links neither.
//	I3  Where a provider is configured, a reference to it that finds nothing is an error. Text that refers to no configured
//	    provider stays as it is.
package providers
