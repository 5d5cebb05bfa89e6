package acceptance

import (
	"testing"

	"github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/connect-api/host"
	"github.com/penstockio/penstock/connect-api/plugintest"
)

func TestMain(m *testing.M) { plugintest.Main(m, nil) }

// The example is a module of its own, as a user's plugin is: it builds, ticks, and goes on where it was after a kill.
func TestExamplePluginGo(t *testing.T) {
	binary := plugintest.BuildIn(t, "../../examples/plugin-go", ".")
	config := map[string]string{"topic": "ticks", "every.ms": "5"}
	t.Run("Describe", func(t *testing.T) { describe(t, binary, nil, "ticker", false) })
	t.Run("ConfigFindings", func(t *testing.T) {
		findings(t, binary, nil, "ticker", config, map[string]string{"topic": "t", "every.ms": "0"}, "every.ms")
	})
	var committed []connectapi.Position
	next := int64(0)
	for range 3 {
		ctx := within(t, caseTimeout)
		p := start(t, binary, nil)
		s, err := p.OpenSource(ctx, host.SourceOptions{Connector: "ticker", Config: config, Committed: committed})
		if err != nil {
			t.Fatal(err)
		}
		for end := next + 5; next < end; {
			b, err := s.Recv(ctx)
			if err != nil {
				t.Fatal(err)
			}
			rows := b.Rows()
			var row connectapi.RawRow
			for rows.Next(&row) {
				v, err := row.Value.Field("n")
				if err != nil {
					t.Fatal(err)
				}
				if n, err := v.Int64(); err != nil || n != next {
					t.Fatalf("tick %d, want %d, %v", n, next, err)
				}
				next++
			}
			for _, m := range b.Positions {
				committed = []connectapi.Position{{Partition: m.Partition, Offset: m.Offset}}
			}
			b.Release()
		}
		kill(t, p)
		s.Close()
	}
}
