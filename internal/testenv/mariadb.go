package testenv

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// MariaDB is a running server. Its root has no password.
type MariaDB struct {
	Port   int
	Socket string
	Dir    string
	args   []string
	p      *process
}

var sharedMariaDB struct {
	sync.Mutex
	s *MariaDB
}

// SharedMariaDB gives the package's server, with Debian's binlog settings for change data capture: ROW, FULL images,
// no row metadata (MariaDB's default).
func SharedMariaDB(t testing.TB) *MariaDB {
	t.Helper()
	NeedServers(t)
	sharedMariaDB.Lock()
	defer sharedMariaDB.Unlock()
	if sharedMariaDB.s == nil {
		s, err := StartMariaDB()
		if err != nil {
			t.Fatal(err)
		}
		OnStop(s.Stop)
		sharedMariaDB.s = s
	}
	return sharedMariaDB.s
}

// StartMariaDB initialises and starts a server; args are added to mariadbd's. The caller stops it.
func StartMariaDB(args ...string) (*MariaDB, error) {
	dir := TempDir("psmaria")
	s := &MariaDB{Port: FreePort(), Dir: dir, Socket: filepath.Join(dir, "s.sock"), args: args}
	install, err := Lookup("mariadb-install-db")
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(dir, "tmp"), 0o755); err != nil {
		return nil, err
	}
	user := currentUser()
	out, err := exec.Command(install, "--no-defaults", "--user="+user, "--datadir="+filepath.Join(dir, "data"),
		"--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve", "--force").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("initialising MariaDB: %w\n%s", err, out)
	}
	return s, s.Start()
}

func currentUser() string {
	if os.Geteuid() == 0 {
		return "root"
	}
	return os.Getenv("USER")
}

// Start starts a stopped server on its port and data.
func (s *MariaDB) Start() error {
	bin, err := Lookup("mariadbd")
	if err != nil {
		return err
	}
	args := append([]string{
		"--no-defaults", "--user=" + currentUser(), "--datadir=" + filepath.Join(s.Dir, "data"), "--tmpdir=" + filepath.Join(s.Dir, "tmp"),
		"--socket=" + s.Socket, "--port=" + strconv.Itoa(s.Port), "--bind-address=127.0.0.1", "--pid-file=" + filepath.Join(s.Dir, "pid"),
		"--log-bin=mysql-bin", "--binlog-format=ROW", "--binlog-row-image=FULL", "--server-id=1", "--skip-name-resolve",
		"--innodb-flush-log-at-trx-commit=0", "--sync-binlog=0", "--character-set-server=utf8mb4",
	}, s.args...)
	p, err := start(filepath.Join(s.Dir, "log"), exec.Command(bin, args...))
	if err != nil {
		return err
	}
	s.p = p
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	return p.await(ctx, "MariaDB", func() bool { _, err := s.Query("select 1"); return err == nil })
}

// Stop ends the server.
func (s *MariaDB) Stop() { s.p.stop(20 * time.Second) }

// Kill ends it as a crash would.
func (s *MariaDB) Kill() { s.p.kill() }

// Addr is host:port.
func (s *MariaDB) Addr() string { return "127.0.0.1:" + strconv.Itoa(s.Port) }

// Query runs SQL through the client and gives its output, columns separated by tabs, without a head line.
func (s *MariaDB) Query(sql string) (string, error) {
	bin, err := Lookup("mariadb")
	if err != nil {
		return "", err
	}
	cmd := exec.Command(bin, "--no-defaults", "-uroot", "-S", s.Socket, "--default-character-set=utf8mb4", "-N", "-B")
	cmd.Stdin = strings.NewReader(sql)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return trim(out), fmt.Errorf("running SQL: %w: %s", err, trim(out))
	}
	return trim(out), nil
}

// Exec runs SQL and fails the test when it does.
func (s *MariaDB) Exec(t testing.TB, sql string) string {
	t.Helper()
	out, err := s.Query(sql)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
