package sink

import (
	"maps"
	"testing"

	connectapi "github.com/penstockio/penstock/connect-api"
)

// TestMovable proves what may be committed for a partition, from what was read, handed on, called durable and committed.
func TestMovable(t *testing.T) {
	tp := connectapi.TopicPartition{Topic: "t", Partition: 3}
	const none = -1
	for _, c := range []struct {
		name                                   string
		read, sent, durable, committed, expect int64
	}{
		{"nothing yet", none, none, none, none, none},
		{"handed on, not durable", 5, 5, none, none, none},
		{"durable in part", 9, 9, 4, none, 4},
		{"all durable", 9, 9, 9, none, 9},
		{"all durable and committed", 9, 9, 9, 9, none},
		{"only dropped records", 7, none, none, none, 7},
		{"dropped behind durable ones", 9, 6, 6, none, 9},
		{"dropped behind some that are not durable", 9, 6, 3, none, 3},
		{"the plugin stands further by its own account", 4, 4, 12, none, 12},
	} {
		t.Run(c.name, func(t *testing.T) {
			task := &Task{durable: connectapi.Offsets{}, sent: connectapi.Offsets{}, read: connectapi.Offsets{}, committed: connectapi.Offsets{}}
			for m, o := range map[*connectapi.Offsets]int64{&task.read: c.read, &task.sent: c.sent, &task.durable: c.durable, &task.committed: c.committed} {
				if o != none {
					(*m)[tp] = o
				}
			}
			want := connectapi.Offsets{}
			if c.expect != none {
				want[tp] = c.expect
			}
			if got := task.movable(); !maps.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

// TestDurableOfWhatIsGone proves that a plugin that still speaks of a partition's earlier stay sets no group back.
func TestDurableOfWhatIsGone(t *testing.T) {
	mine, gone, back := connectapi.TopicPartition{Topic: "t"}, connectapi.TopicPartition{Topic: "t", Partition: 1}, connectapi.TopicPartition{Topic: "t", Partition: 2}
	task := &Task{ours: connectapi.Offsets{}, durable: connectapi.Offsets{}, sent: connectapi.Offsets{}, read: connectapi.Offsets{}, committed: connectapi.Offsets{}}
	task.begin(connectapi.Offsets{mine: -1, back: 90})
	task.noteDurable(connectapi.Offsets{mine: 5, gone: 70, back: 40})
	if got, want := task.movable(), (connectapi.Offsets{mine: 5}); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	task.noteDurable(connectapi.Offsets{back: 91})
	if got, want := task.movable(), (connectapi.Offsets{mine: 5, back: 91}); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
