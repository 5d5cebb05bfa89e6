package e2e

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/penstockio/penstock/internal/testenv"
)

// TestJavaGroups has Apache Kafka's own consumers share a topic: cooperatively, as static members that come back without a
// rebalance and fence each other, and with an administrator who removes members.
func TestJavaGroups(t *testing.T) {
	t.Parallel()
	b := testenv.NewBroker(t)
	b.Start(t)
	ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
	defer cancel()
	cmd := testenv.KafkaTool(ctx, t, filepath.Join(testenv.Root(), "internal/e2e/testdata/java/Groups.java"), b.Addr)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || !strings.HasSuffix(string(out), "done\n") {
		t.Fatalf("Java's consumers: %v\n%s\n%s", err, out, stderr.String())
	}
	for _, want := range []string{
		"the first lost only what the others got: true", "without a rebalance", "removing it twice: UnknownMemberIdException",
	} {
		if !strings.Contains(string(out), want+"\n") {
			t.Errorf("not found: %s\n%s", want, out)
		}
	}
}
