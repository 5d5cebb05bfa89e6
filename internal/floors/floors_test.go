package floors

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/penstockio/penstock/"

// allowed lists, for each folder, the folders of ours that its packages may import besides packages of the same
// folder. The longest matching prefix decides.
var allowed = map[string][]string{
	"connect-api":           {},
	"connect-api/connectpb": {},
	"broker":                {},
	"rest/api":              {},
	"connectors":            {"connect-api"},
	"runtime":               {"connect-api"},
	"worker":                {"runtime", "rest/api", "connect-api"},
	"rest":                  {"worker", "runtime", "rest/api", "connect-api", "broker"},
	"cmd/penstock":          {"rest", "worker", "runtime", "broker", "rest/api", "connect-api"},
}

// within orders packages of one folder: each may import only those before it in its list, and folders not listed
// may be imported by nobody but their own tests.
var within = map[string][]string{
	"broker": {
		"broker/buffer", "broker/disk", "broker/batch", "broker/commitlog", "broker/index", "broker/queue", "broker/machine",
		"broker/compact", "broker/store", "broker/topic", "broker/group", "broker/txn", "broker/kafka", "broker",
	},
}

// outside are folders that stand beside the floors and may import anything.
var outside = []string{"internal", "bench", "examples", "tools", "docs", "deploy"}

// banned names what no package of ours may link, and why.
var banned = map[string]string{
	"github.com/elastic/go-elasticsearch/v8":              "the root package compiles for minutes; use esapi over elastic-transport-go",
	"github.com/elastic/go-elasticsearch/v8/esutil":       "compiles for minutes and loses items; we write our own bulk",
	"github.com/hamba/avro/v2":                            "archived with open CVEs; goavro is the Avro library",
	"github.com/cockroachdb/pebble":                       "pebble v1; use v2",
	"github.com/go-mysql-org/go-mysql/canal":              "reads today's columns for old events; use replication",
	"github.com/confluentinc/confluent-kafka-go/v2/kafka": "needs cgo",
}

type pkg struct {
	ImportPath string
	Name       string
	Imports    []string
	Dir        string
	GoFiles    []string
}

func TestImportsGoDownTheFloors(t *testing.T) {
	for _, p := range list(t) {
		from := strings.TrimPrefix(p.ImportPath+"/", module)
		from = strings.TrimSuffix(from, "/")
		floor, ok := floorOf(from)
		for _, imp := range p.Imports {
			if why, bad := banned[imp]; bad && why != "" {
				t.Errorf("%s imports %s: %s", from, imp, why)
			}
			if !strings.HasPrefix(imp, module) || !ok {
				continue
			}
			to := strings.TrimPrefix(imp, module)
			if !mayImport(from, floor, to) {
				t.Errorf("%s imports %s: not on a floor below it (see DESIGN.md, The house)", from, to)
			}
		}
		if !ok && !beside(from) && from != "" {
			t.Errorf("package %s is on no floor: add it to DESIGN.md and to this test, or move it", from)
		}
	}
}

// TestConnectapiIsStandardLibraryOnly keeps the promise that a plugin author's package graph starts small.
func TestConnectapiIsStandardLibraryOnly(t *testing.T) {
	for _, p := range list(t) {
		if p.ImportPath != module+"connect-api" {
			continue
		}
		for _, imp := range p.Imports {
			if strings.Contains(strings.SplitN(imp, "/", 2)[0], ".") {
				t.Errorf("connectapi imports %s: it is standard library only", imp)
			}
		}
	}
}

// TestEveryPackageSaysWhatItOwns demands a package comment.
func TestEveryPackageSaysWhatItOwns(t *testing.T) {
	for _, p := range list(t) {
		if len(p.GoFiles) == 0 || documented(t, p) {
			continue
		}
		t.Errorf("package %s has no package comment: say in doc.go what it owns and what it never does", p.ImportPath)
	}
}

func documented(t *testing.T, p pkg) bool {
	for _, f := range p.GoFiles {
		b, err := os.ReadFile(p.Dir + "/" + f)
		if err != nil {
			t.Fatal(err)
		}
		s := string(b)
		if strings.Contains(s, "// Package "+p.Name) || strings.Contains(s, "// Command ") || strings.Contains(s, "Code generated") {
			return true
		}
	}
	return false
}

func mayImport(from, floor, to string) bool {
	target, _ := floorOf(to)
	if target == floor {
		order, ordered := within[floor]
		if !ordered {
			return true
		}
		return position(order, to) < position(order, from) || position(order, to) < 0
	}
	for _, a := range allowed[floor] {
		if target == a || strings.HasPrefix(target, a+"/") {
			return true
		}
	}
	return false
}

func position(order []string, p string) int {
	best, at := -1, -1
	for i, o := range order {
		if (p == o || strings.HasPrefix(p, o+"/")) && len(o) > best {
			best, at = len(o), i
		}
	}
	return at
}

func floorOf(p string) (string, bool) {
	best := ""
	for f := range allowed {
		if (p == f || strings.HasPrefix(p, f+"/")) && len(f) > len(best) {
			best = f
		}
	}
	if best == "connect-api/connectpb" {
		best = "connect-api"
	}
	return best, best != ""
}

func beside(p string) bool {
	for _, o := range outside {
		if p == o || strings.HasPrefix(p, o+"/") {
			return true
		}
	}
	return false
}

func list(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Name,Imports,Dir,GoFiles", module+"...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("listing packages: %v", err)
	}
	var ps []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return ps
		} else if err != nil {
			t.Fatal(err)
		}
		ps = append(ps, p)
	}
}
