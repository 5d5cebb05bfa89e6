package serve

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/penstockio/penstock/connect-api"
)

// usage says what the binary is, to a person who started it.
func usage(w io.Writer, binary string, defs []*connectapi.Definition) {
	fmt.Fprintf(w, "%s is a connector plugin of Penstock. It is not started by hand: put it into a folder of the worker's\n"+
		"plugin.path (by default the folder plugins beside the penstock binary) and POST a connector to /connectors.\n", filepath.Base(binary))
	for _, d := range defs {
		kind := "source"
		if d.OpenSink != nil {
			kind = "sink"
		}
		fmt.Fprintf(w, "\n%s (%s", d.Name, kind)
		if d.Version != "" {
			fmt.Fprintf(w, ", version %s", d.Version)
		}
		fmt.Fprintln(w, ")")
		if d.Doc != "" {
			fmt.Fprintf(w, "  %s\n", strings.ReplaceAll(d.Doc, "\n", "\n  "))
		}
		if len(d.Aliases) > 0 {
			fmt.Fprintf(w, "  also known as %s\n", strings.Join(d.Aliases, ", "))
		}
		for i := range d.Config.Keys() {
			k := &d.Config.Keys()[i]
			if k.Internal {
				continue
			}
			by := "default null"
			switch {
			case k.Required:
				by = "required"
			case k.Default != nil:
				by = fmt.Sprintf("default %q", *k.Default)
			}
			fmt.Fprintf(w, "\n  %s (%s, %s)\n", k.Name, strings.ToLower(k.Type.String()), by)
			if k.Doc != "" {
				fmt.Fprintf(w, "      %s\n", strings.ReplaceAll(k.Doc, "\n", "\n      "))
			}
		}
	}
}
