// Command lakecat prints what stands in a lake's Parquet files: each record once, a JSON object a line, or how many there
// are. It is for the demo and for looking by hand.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"

	"github.com/penstockio/penstock/internal/testenv"
)

func main() {
	flags := flag.NewFlagSet("lakecat", flag.ExitOnError)
	count := flags.Bool("count", false, "print the number of records only")
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "usage: lakecat DIR [-count]")
		flags.PrintDefaults()
	}
	args := os.Args[1:]
	var dir string
	if len(args) > 0 && args[0] != "" && args[0][0] != '-' { // the folder may stand before the flags
		dir, args = args[0], args[1:]
	}
	_ = flags.Parse(args) // ends the program
	if dir == "" {
		dir = flags.Arg(0)
	}
	if dir == "" {
		flags.Usage()
		os.Exit(2)
	}
	if err := run(dir, *count); err != nil {
		fmt.Fprintln(os.Stderr, "lakecat:", err)
		os.Exit(1)
	}
}

func run(dir string, count bool) error {
	rows, err := testenv.ReadLake(dir)
	if err != nil {
		return err
	}
	if count {
		fmt.Println(len(rows))
		return nil
	}
	out := bufio.NewWriter(os.Stdout)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for _, r := range rows {
		r.Columns["__topic"], r.Columns["__partition"], r.Columns["__offset"] = r.Topic, r.Partition, r.Offset
		if err := enc.Encode(r.Columns); err != nil {
			return err
		}
	}
	return out.Flush()
}
