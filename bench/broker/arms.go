package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/penstockio/penstock/internal/testenv"
)

// arm is one way to take records. Kafka's two arms share a process and differ in a topic setting.
type arm struct {
	name     string
	settings map[string]*string // of its topics
	fresh    func() (*server, error)
	srv      *server // what runs now
	keep     bool    // the server stays for the next run
}

// server is a running process.
type server struct {
	cmd  *exec.Cmd
	addr string
	dir  string
}

func (s *server) pid() int { return s.cmd.Process.Pid }

func (s *server) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	done := make(chan struct{})
	go func() { _ = s.cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		_ = s.cmd.Process.Kill()
		<-done
	}
}

type lineup struct{ list []*arm }

const (
	ours       = "penstock"
	oursAgain  = "penstock (A/A)"
	kafkaPlain = "kafka"
	kafkaFlush = "kafka with flush"
	kliteArm   = "klite"
	floorArm   = "floor"
)

func startArms(only string) (*lineup, error) {
	one := "1"
	kafka := sharedKafka()
	all := []*arm{
		{name: ours, fresh: startOurs},
		{name: kafkaPlain, fresh: kafka, keep: true},
		{name: kafkaFlush, fresh: kafka, keep: true, settings: map[string]*string{"flush.messages": &one}},
		{name: kliteArm, fresh: startKlite},
		{name: floorArm, fresh: startFloor},
		{name: oursAgain, fresh: startOurs},
	}
	a := &lineup{}
	for _, x := range all {
		if x.name == kliteArm && os.Getenv("KLITE") == "" || only != "" && !strings.Contains(x.name, only) {
			continue
		}
		a.list = append(a.list, x)
	}
	return a, nil
}

func (a *lineup) stop() {
	for _, x := range a.list {
		if x.srv != nil {
			x.srv.stop()
		}
	}
}

// begin gives the arm's running server.
func (x *arm) begin() (err error) {
	if x.srv == nil {
		x.srv, err = x.fresh()
	}
	return err
}

// end stops a server that is not kept and gives back its disk.
func (x *arm) end() {
	if x.keep || x.srv == nil {
		return
	}
	x.srv.stop()
	os.RemoveAll(x.srv.dir)
	x.srv = nil
}

func spawn(dir, addr string, env []string, name string, args ...string) (*server, error) {
	out, err := os.Create(filepath.Join(dir, "out.log"))
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	return &server{cmd: cmd, addr: addr, dir: dir}, nil
}

// ready waits until the server answers Metadata.
func (s *server) ready(within time.Duration) (*server, error) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	cl, err := kgo.NewClient(kgo.SeedBrokers(s.addr), kgo.RequestRetries(0))
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	for {
		err := cl.Ping(ctx)
		if err == nil {
			return s, nil
		}
		if ctx.Err() != nil {
			s.stop()
			b, _ := os.ReadFile(filepath.Join(s.dir, "out.log"))
			return nil, fmt.Errorf("%s is not ready within %v: %w\n%s", s.cmd.Path, within, err, b[max(0, len(b)-2000):])
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func local() string { return "127.0.0.1:" + strconv.Itoa(testenv.FreePort()) }

func startOurs() (*server, error) {
	dir := testenv.TempDir("psbench")
	return startOursIn(dir)
}

func startOursIn(dir string) (*server, error) {
	addr := local()
	bin := os.Getenv("PENSTOCK")
	if bin == "" {
		bin = filepath.Join(testenv.Root(), "bin/penstock")
	}
	s, err := spawn(dir, addr, nil, bin, "broker", "--data-dir", filepath.Join(dir, "data"), "--broker-listen", addr, "--log-level", "warn")
	if err != nil {
		return nil, err
	}
	return s.ready(3 * time.Minute) // 10 GB of log are read before that if the index is gone
}

// sharedKafka starts one Kafka for both its arms.
func sharedKafka() func() (*server, error) {
	var s *server
	return func() (*server, error) {
		if s != nil {
			return s, nil
		}
		lib := filepath.Join(testenv.Cache(), "kafka", "lib")
		if _, err := os.Stat(lib); err != nil {
			return nil, fmt.Errorf("Apache Kafka is not in %s: run make deps", lib) //nolint:staticcheck // a name
		}
		dir, port := testenv.TempDir("pskafka"), freePair()
		got, err := spawn(dir, "127.0.0.1:"+strconv.Itoa(port), []string{"KAFKA_EXTRA=log.segment.delete.delay.ms=100\nlog.cleaner.enable=false"},
			"bash", filepath.Join(testenv.Root(), "internal/testenv/parts/kafka/start-broker.sh"), lib, dir, strconv.Itoa(port))
		if err == nil {
			got, err = got.ready(120 * time.Second)
		}
		s = got
		return s, err
	}
}

// freePair is a port whose next is free too: that becomes the controller's.
func freePair() int {
	for {
		port := testenv.FreePort()
		if ln, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port+1)); err == nil {
			ln.Close()
			return port
		}
	}
}

func startKlite() (*server, error) {
	dir, addr := testenv.TempDir("psklite"), local()
	s, err := spawn(dir, addr, nil, os.Getenv("KLITE"), "--listen", addr, "--data-dir", filepath.Join(dir, "data"), "--log-level", "error")
	if err != nil {
		return nil, err
	}
	return s.ready(20 * time.Second)
}

func startFloor() (*server, error) {
	dir, addr := testenv.TempDir("psfloor"), local()
	s, err := spawn(dir, addr, nil, os.Args[0], "-floor", addr, filepath.Join(dir, "file"))
	if err != nil {
		return nil, err
	}
	return s, waitFile(filepath.Join(dir, "file.ready"))
}

func waitFile(name string) error {
	for range 3000 {
		if _, err := os.Stat(name); err == nil {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return errors.New("waiting for " + name + ": not there within 30 s")
}

// topic makes a topic and gives a function that deletes it.
func (x *arm) topic(name string, partitions int32) (func(), error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(x.srv.addr), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		return nil, err
	}
	adm := kadm.NewClient(cl)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if _, err := adm.CreateTopic(ctx, partitions, 1, x.settings, name); err != nil {
		cl.Close()
		return nil, fmt.Errorf("creating topic %s on %s: %w", name, x.name, err)
	}
	// Kafka answers before the partitions can be written to.
	for i := range partitions {
		if err := cl.ProduceSync(ctx, &kgo.Record{Topic: name, Partition: i, Value: []byte("ready")}).FirstErr(); err != nil {
			cl.Close()
			return nil, fmt.Errorf("writing to the new topic %s on %s: %w", name, x.name, err)
		}
	}
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		_, _ = adm.DeleteTopics(ctx, name)
		cl.Close()
	}, nil
}
