package e2e

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/penstockio/penstock/internal/testenv"
)

// TestFranzGoOwn runs franz-go's own integration tests against the broker: groups with every balancer, static and not,
// transactions, produce, consume, pausing, partitions and topics that come and go. Left out are share groups, and the one test that needs
// a topic __consumer_offsets: this broker has none. KGO_TEST_RECORDS sets how many records the longest of them move.
func TestFranzGoOwn(t *testing.T) {
	t.Parallel()
	b := testenv.NewBroker(t)
	b.Start(t)
	ctx, cancel := context.WithTimeout(context.Background(), 6*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "test", "-count", "1", "-timeout", "5m", "-skip", "Share|TestConsumeRegex$|Fuzz", "github.com/twmb/franz-go/pkg/kgo")
	cmd.Dir = testenv.Root()
	cmd.Env = append(os.Environ(), "KGO_SEEDS="+b.Addr, "KGO_TEST_RF=1", "KGO_TEST_RECORDS="+cmp.Or(os.Getenv("KGO_TEST_RECORDS"), "5000"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("franz-go's tests: %v\n%s", err, tail(out, 20_000))
	}
}

func tail(b []byte, n int) []byte { return b[max(0, len(b)-n):] }
