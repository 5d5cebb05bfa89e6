package acceptance

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/connect-api/host"
)

// Source says how to prove a source connector. Cases run one after the other over one source of data, which grows.
type Source struct {
	Binary    string
	Env       []string
	Connector string
	Config    map[string]string
	Wrong     map[string]string // a wrong configuration; nil: none is tried
	WrongKey  string            // the key at fault in it

	// Produce makes records from, from+1, … from+n-1 appear, in this order and in one partition.
	Produce func(t *testing.T, from, n int)
	// Want is the text of record i, and Text that of a row; nil: the value's text form.
	Want func(i int) string
	Text func(row *connectapi.RawRow) (string, error)
}

// perCase is how many records a case makes.
const perCase = 50

type sourceRun struct {
	Source
	made      int // records there are
	read      int // records known to be behind committed
	committed []connectapi.Position
}

func (s Source) run(t *testing.T) {
	if s.Text == nil {
		s.Text = func(row *connectapi.RawRow) (string, error) {
			b, err := row.Value.AppendText(nil)
			return string(b), err
		}
	}
	r := &sourceRun{Source: s}
	t.Run("Describe", func(t *testing.T) { describe(t, s.Binary, s.Env, s.Connector, false) })
	t.Run("ConfigFindings", func(t *testing.T) {
		findings(t, s.Binary, s.Env, s.Connector, s.Config, s.Wrong, s.WrongKey)
	})
	for _, c := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"ReadsInOrderAndStops", r.readsInOrder},
		{"ResumesFromCommitted", r.resumes},
		{"ReadsWhatComesLater", r.readsLater},
		{"KilledAndResumed", r.killed},
		{"LastAckOnceStopped", r.lastAck},
		{"LittleCredit", r.littleCredit},
		{"StopsWhenIdle", r.stopsIdle},
	} {
		if !t.Run(c.name, c.run) {
			return // later cases build on where this one should have ended
		}
	}
}

func (r *sourceRun) produce(t *testing.T) {
	r.Produce(t, r.made, perCase)
	r.made += perCase
}

func (r *sourceRun) open(t *testing.T, credit int) (*host.Process, *host.Source) {
	t.Helper()
	p := start(t, r.Binary, r.Env)
	ctx := within(t, caseTimeout)
	tasks, err := p.Tasks(ctx, r.Connector, r.Config, 1, r.committed)
	if err != nil || len(tasks) == 0 {
		t.Fatalf("tasks: %d, %v", len(tasks), err)
	}
	s, err := p.OpenSource(ctx, host.SourceOptions{
		Connector: r.Connector, Config: tasks[0], Committed: r.committed, RetryTimeout: 10 * time.Second,
		AckAgain: 200 * time.Millisecond, Credit: credit, MaxBatchBytes: max(credit/4, 0),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return p, s
}

// take reads until record `to` has been read, checking that records come in order from r.read on, and commits the position
// of every batch that has one.
func (r *sourceRun) take(t *testing.T, s *host.Source, to int) {
	t.Helper()
	ctx := within(t, caseTimeout)
	for at := r.read; at < to; {
		b, err := s.Recv(ctx)
		if err != nil {
			t.Fatalf("waiting for record %d: %v", at, err)
		}
		at = r.batch(t, s, b, at)
	}
}

// batch checks a batch whose first record should be number at, and acks it.
func (r *sourceRun) batch(t *testing.T, s *host.Source, b *host.SourceBatch, at int) int {
	t.Helper()
	rows := b.Rows()
	var row connectapi.RawRow
	first := at
	for rows.Next(&row) {
		text, err := r.Text(&row)
		if err != nil {
			t.Fatal(err)
		}
		if want := r.Want(at); text != want {
			t.Fatalf("record %d is %.200q, want %.200q", at, text, want)
		}
		at++
	}
	if err := rows.Err(); err != nil || at-first != b.Count {
		t.Fatalf("batch %d says %d rows, has %d: %v", b.ID, b.Count, at-first, err)
	}
	for _, m := range b.Positions {
		if m.Partition != "" && !m.AckOnly {
			r.committed = []connectapi.Position{{Partition: m.Partition, Offset: m.Offset}}
			r.read = first + m.Rows
		}
	}
	id := b.ID
	b.Release()
	if err := s.Ack(id, nil); err != nil {
		t.Fatal(err)
	}
	return at
}

// stop stops the task and takes what still comes.
func (r *sourceRun) stop(t *testing.T, s *host.Source) {
	t.Helper()
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	for {
		b, err := s.Recv(ctx)
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatalf("stopping: %v", err)
		}
		r.batch(t, s, b, r.read)
	}
}

func (r *sourceRun) readsInOrder(t *testing.T) {
	r.produce(t)
	p, s := r.open(t, 0)
	r.take(t, s, r.made)
	if r.read != r.made {
		t.Fatalf("no position stands behind record %d, only behind %d", r.made-1, r.read-1)
	}
	r.stop(t, s)
	noneLeft(t, p)
}

func (r *sourceRun) resumes(t *testing.T) {
	r.produce(t)
	p, s := r.open(t, 0)
	r.take(t, s, r.made) // the first record checked is the one after the committed position
	r.stop(t, s)
	noneLeft(t, p)
}

func (r *sourceRun) readsLater(t *testing.T) {
	_, s := r.open(t, 0)
	for range 3 {
		r.produce(t)
		r.take(t, s, r.made)
	}
	r.stop(t, s)
}

func (r *sourceRun) killed(t *testing.T) {
	r.produce(t)
	p, s := r.open(t, 0)
	r.take(t, s, r.made-perCase/2)
	kill(t, p)
	ctx := within(t, caseTimeout)
	for {
		if _, err := s.Recv(ctx); err != nil {
			break // batches that came before the end are lost with the worker's memory
		}
	}
	r.produce(t)
	p, s = r.open(t, 0)
	r.take(t, s, r.made)
	r.stop(t, s)
	noneLeft(t, p)
}

// lastAck: a stopped task waits for the ack of what it sent, and for no further record.
func (r *sourceRun) lastAck(t *testing.T) {
	r.produce(t)
	_, s := r.open(t, 0)
	ctx := within(t, caseTimeout)
	var held []*host.SourceBatch
	for at := r.read; at < r.made; {
		b, err := s.Recv(ctx)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, b)
		at += b.Count
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	at := r.read
	for _, b := range held {
		at = r.batch(t, s, b, at)
	}
	short, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	if _, err := s.Recv(short); err != io.EOF {
		t.Fatalf("after the last ack: %v", err)
	}
}

// littleCredit: a task goes on whenever credit comes, however little.
func (r *sourceRun) littleCredit(t *testing.T) {
	r.produce(t)
	_, s := r.open(t, 64)
	r.take(t, s, r.made)
	r.stop(t, s)
}

func (r *sourceRun) stopsIdle(t *testing.T) {
	p, s := r.open(t, 0)
	r.stop(t, s)
	noneLeft(t, p)
}
