package topics

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/penstockio/penstock/runtime/kafka/table"
)

// TestTenThousandConnectors opens a config topic of 10,000 connectors with a task each, written in the order a leader writes
// them, and says how long that took.
func TestTenThousandConnectors(t *testing.T) {
	const n = 10_000
	cl := clients(t)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c, err := OpenConfig(ctx, cl, spec("configs", 1), quiet, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var rows []table.Record
	for i := range n {
		name := fmt.Sprintf("connector-%d", i)
		cfg := map[string]string{
			"name": name, "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector", "tasks.max": "1", "topics": fmt.Sprintf("topic-%d", i),
			"file": fmt.Sprintf("/var/lib/out/%d", i), "key.converter": "org.apache.kafka.connect.storage.StringConverter",
			"value.converter": "org.apache.kafka.connect.json.JsonConverter", "value.converter.schemas.enable": "false",
		}
		rows = append(rows, table.Record{Key: []byte("connector-" + name), Value: encodeProps(cfg)},
			table.Record{Key: []byte("task-" + name + "-0"), Value: encodeProps(cfg)},
			table.Record{Key: []byte("commit-" + name), Value: []byte(`{"tasks":1}`)})
	}
	if err := c.tab.Write(ctx, rows...); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	again, err := OpenConfig(ctx, cl, spec("configs", 1), quiet, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	t.Logf("%d connectors were read in %v", n, time.Since(began).Round(time.Millisecond))
	tasks := 0
	again.Each(func(_ string, _ map[string]string, n int) { tasks += n })
	if names := again.Names(); len(names) != n || tasks != n {
		t.Fatalf("%d connectors with %d tasks were read", len(names), tasks)
	}
}
