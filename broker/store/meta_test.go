package store

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/penstockio/penstock/broker/disk"
)

var update = flag.Bool("update", false, "rewrite golden files")

func TestMetaGolden(t *testing.T) {
	m := Meta{
		Format: 1, Incompatible: []string{}, ReadOnlyCompatible: []string{}, Compatible: []string{"later-hint"},
		ClusterUUID: UUID{1}, LogUUID: UUID{2}, NodeID: 1, NodeUUID: UUID{3}, History: 4, Epoch: 5,
	}
	got, err := m.encode()
	if err != nil {
		t.Fatal(err)
	}
	const path = "testdata/meta.json"
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Fatalf("the format changed:\n%s\nwas:\n%s", got, want)
	}
}

// TestMetaOfOthers: what a newer version, or a careless hand, leaves in the directory is refused with its name.
func TestMetaOfOthers(t *testing.T) {
	golden, err := os.ReadFile("testdata/meta.json")
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct{ name, from, to, want string }{
		{"as it is", "", "", ""},
		{"incompatible feature", `"incompatible": []`, `"incompatible": ["tiered-extents"]`, `"tiered-extents"`},
		{"feature for writers", `"read_only_compatible": []`, `"read_only_compatible": ["lanes"]`, `"lanes"`},
		{"compatible feature", `"later-hint"`, `"a", "b"`, ""},
		{"format", `"format": 1`, `"format": 2`, "its format is 2"},
		{"no json", "{", "(", "meta"},
		{"no log uuid", `"02000000000000000000000000000000"`, `"00000000000000000000000000000000"`, "log_uuid"},
		{"short uuid", `"02000000000000000000000000000000"`, `"02"`, "32 hexadecimal digits"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := disk.NewMem()
			if err := disk.WriteAtomic(d, "/data/meta", []byte(strings.Replace(string(golden), c.from, c.to, 1))); err != nil {
				t.Fatal(err)
			}
			s, err := Open("/data", memOptions(d, vfs.NewMem()), quiet(), nil)
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				stop(t, s)
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v, want it to name %s", err, c.want)
			}
		})
	}
}

func TestLogWithoutMeta(t *testing.T) {
	d := disk.NewMem()
	s := start(t, "/data", memOptions(d, vfs.NewMem()))
	stop(t, s)
	if err := d.Remove("/data/meta"); err != nil {
		t.Fatal(err)
	}
	if _, err := Open("/data", memOptions(d, vfs.NewMem()), quiet(), nil); err == nil || !strings.Contains(err.Error(), "meta") {
		t.Fatal(err)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, o := range []Options{
		{SegmentBytes: 8 << 20},
		{SegmentBytes: 8 << 20, MaxMessageBytes: 3 << 20},
		{TailBytes: 1000},
	} {
		if err := o.Validate(); err == nil {
			t.Errorf("%+v passed", o)
		}
	}
	var o Options
	if err := o.Validate(); err != nil || o.SegmentBytes != 256<<20 {
		t.Fatal(o, err)
	}
}
