// Command checker is a connector plugin for tests and benchmarks, made with the public SDK alone: a source of numbered
// records, and a sink that writes down what it saw before it says so.
//
// The source has partitions; each emits 0, 1, 2, … under its own key, and its position is the next number. So a topic shows
// what was lost (a gap), what was repeated (a number again) and what came before its turn. The sink appends a line a record to
// a file of its own, and syncs it before it acknowledges.
package main

import "github.com/penstockio/penstock/connect-api/serve"

const version = "1.0.0"

func main() { serve.Main(source, sink) }
