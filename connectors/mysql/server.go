package mysql

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/go-mysql-org/go-mysql/client"
	"github.com/go-mysql-org/go-mysql/mysql"

	connectapi "github.com/penstockio/penstock/connect-api"
)

// server is a connection for SQL and what is known of the server behind it.
type server struct {
	*client.Conn
	flavor  string // mysql or mariadb
	version string
}

// session is set on every SQL connection: UTC, no modes that change values, our own character set, no time limits.
var session = []string{
	"SET SESSION time_zone='+00:00'", "SET SESSION sql_mode=''", "SET NAMES utf8mb4", "SET SESSION wait_timeout=86400",
	"SET SESSION net_write_timeout=600", "SET SESSION net_read_timeout=600", "SET SESSION sql_select_limit=DEFAULT",
}

func connect(ctx context.Context, cfg *Config) (*server, error) {
	tlsCfg, err := cfg.tls()
	if err != nil {
		return nil, err
	}
	opts := func(c *client.Conn) error {
		if tlsCfg != nil {
			c.SetTLSConfig(tlsCfg)
		}
		return nil
	}
	conn, err := client.ConnectWithContext(ctx, cfg.addr(), cfg.User, cfg.Password, "", cfg.connectTimeout(), opts)
	if err != nil && tlsCfg != nil && cfg.SSLMode == "preferred" && !isAuth(err) {
		conn, err = client.ConnectWithContext(ctx, cfg.addr(), cfg.User, cfg.Password, "", cfg.connectTimeout())
	}
	if err != nil {
		return nil, cfg.explainConnect(err)
	}
	s := &server{Conn: conn, version: strings.TrimPrefix(conn.GetServerVersion(), "5.5.5-"), flavor: mysql.MySQLFlavor}
	if strings.Contains(strings.ToLower(s.version), "mariadb") {
		s.flavor = mysql.MariaDBFlavor
	}
	for _, q := range session {
		if _, err := conn.Execute(q); err != nil {
			_ = conn.Close()
			return nil, fmt.Errorf("preparing a session on %s: %s: %w", cfg.addr(), q, err)
		}
	}
	limit := "SET SESSION max_execution_time=0"
	if s.flavor == mysql.MariaDBFlavor {
		limit = "SET SESSION max_statement_time=0"
	}
	_, _ = conn.Execute(limit) // absent in old servers, which have no such limit
	return s, nil
}

// tls gives the settings of the modes that need it; nil: plain.
func (c *Config) tls() (*tls.Config, error) {
	switch c.SSLMode {
	case "disabled", "disable", "preferred":
		// preferred means encrypted when the server offers it; on a loopback or a server without it, plain.
		if c.SSLMode != "preferred" || isLoopback(c.Host) {
			return nil, nil
		}
		return &tls.Config{InsecureSkipVerify: true}, nil // "preferred" verifies nothing, as MySQL defines it
	case "required", "trust":
		return &tls.Config{InsecureSkipVerify: true}, nil // as MySQL defines it
	}
	t := &tls.Config{ServerName: c.Host, MinVersion: tls.VersionTLS12}
	if c.CA != "" {
		pem, err := os.ReadFile(c.CA)
		if err != nil {
			return nil, connectapi.ConfigError("database.ssl.ca", fmt.Errorf("reading the authority's certificate: %w", err))
		}
		t.RootCAs = x509.NewCertPool()
		if !t.RootCAs.AppendCertsFromPEM(pem) {
			return nil, connectapi.ConfigError("database.ssl.ca", fmt.Errorf("%s holds no PEM certificate", c.CA))
		}
	}
	if c.SSLMode == "verify_ca" || c.SSLMode == "verify-ca" {
		roots := t.RootCAs
		t.InsecureSkipVerify = true // the chain is verified below, the name is not, as the mode says
		t.VerifyConnection = func(cs tls.ConnectionState) error {
			inter := x509.NewCertPool()
			for _, cert := range cs.PeerCertificates[1:] {
				inter.AddCert(cert)
			}
			_, err := cs.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: inter})
			return err
		}
	}
	return t, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func code(err error) uint16 {
	var e *mysql.MyError
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

func isAuth(err error) bool {
	c := code(err)
	return c == mysql.ER_ACCESS_DENIED_ERROR || c == mysql.ER_DBACCESS_DENIED_ERROR || c == 1130 || c == 1698
}

// explainConnect names the key to look at. Passwords are in no text of the server's.
func (c *Config) explainConnect(err error) error {
	at := fmt.Sprintf("connecting to MySQL at %s as user %s (database.ssl.mode=%s)", c.addr(), c.User, c.SSLMode)
	switch code(err) {
	case mysql.ER_ACCESS_DENIED_ERROR, 1698:
		return connectapi.ConfigError("database.password", fmt.Errorf("%s: the server refused user or password: %w. "+
			"Check database.user and database.password; an anonymous user ''@'localhost' may stand in front of '%s'@'%%'", at, err, c.User))
	case 1130:
		return connectapi.ConfigError("database.user", fmt.Errorf("%s: the server allows no user from this host: %w", at, err))
	case 0:
		return connectapi.ConfigError("database.hostname", connectapi.NotConnectedError(fmt.Errorf("%s: the server cannot be reached: %w. "+
			"Check database.hostname, database.port and that the server is running", at, err)))
	}
	return fmt.Errorf("%s: %w", at, err)
}

// one gives the single value of a query; empty when there is no row.
func (s *server) one(q string) (string, error) {
	r, err := s.Execute(q)
	if err != nil {
		return "", fmt.Errorf("asking the server %q: %w", q, err)
	}
	defer r.Close()
	if r.RowNumber() == 0 {
		return "", nil
	}
	return text(r, 0, 0)
}

func (s *server) variable(name string) (string, error) {
	r, err := s.Execute("SHOW GLOBAL VARIABLES LIKE '" + name + "'")
	if err != nil {
		return "", fmt.Errorf("reading the server's variable %s: %w", name, err)
	}
	defer r.Close()
	if r.RowNumber() == 0 {
		return "", nil
	}
	return text(r, 0, 1)
}

// account is the account the server took the user for, as a GRANT names it: its host need not be %.
func (s *server) account(user string) string {
	host := "%"
	if r, err := s.Execute("SELECT CURRENT_USER()"); err == nil {
		defer r.Close()
		if got, err := text(r, 0, 0); err == nil {
			if at := strings.LastIndexByte(got, '@'); at >= 0 {
				user, host = got[:at], got[at+1:]
			}
		}
	}
	quote := strings.NewReplacer(`\`, `\\`, "'", "''").Replace
	return fmt.Sprintf("'%s'@'%s'", quote(user), quote(host))
}

// validate checks a configuration against the server it names: each problem under the key that mends it.
func validate(ctx context.Context, cfg Config) error {
	if err := cfg.static(); err != nil {
		return err
	}
	s, err := connect(ctx, &cfg)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	return s.check(&cfg)
}

// check looks at what capture needs.
func (s *server) check(cfg *Config) error {
	host := func(format string, args ...any) error {
		return connectapi.ConfigError("database.hostname", fmt.Errorf("the server at %s (%s) %s", cfg.addr(), s.version, fmt.Sprintf(format, args...)))
	}
	for _, v := range []struct{ name, want, otherwise string }{
		{"log_bin", "ON", "has binary logging off (log_bin=%s): set log-bin in its configuration and restart it"},
		{"binlog_format", "ROW", "logs statements or a mixture, not rows (binlog_format=%s): run SET GLOBAL binlog_format=ROW, set it in the configuration too, and let sessions that are open reconnect"},
		{"binlog_row_image", "FULL", "logs partial rows (binlog_row_image=%s): run SET GLOBAL binlog_row_image=FULL and set it in the configuration too"},
	} {
		got, err := s.variable(v.name)
		if err != nil {
			return err
		}
		if !strings.EqualFold(got, v.want) && got != "1" && (got != "" || v.name == "log_bin") {
			return host(v.otherwise, got)
		}
	}
	if opt, err := s.variable("binlog_row_value_options"); err == nil && strings.Contains(strings.ToUpper(opt), "PARTIAL_JSON") {
		return host("logs JSON changes in parts (binlog_row_value_options=%s): run SET GLOBAL binlog_row_value_options=''", opt)
	}
	own, err := s.variable("server_id")
	if err == nil && cfg.ServerID != 0 && own == fmt.Sprint(cfg.ServerID) {
		return connectapi.ConfigError("database.server.id", fmt.Errorf("database.server.id=%d is the server's own id: choose another, or leave it out", cfg.ServerID))
	}
	if _, err := s.position(); err != nil {
		if code(err) == mysql.ER_SPECIFIC_ACCESS_DENIED_ERROR {
			return connectapi.ConfigError("database.user", fmt.Errorf("user %s may not read the server's log position: %w. Run: GRANT SELECT, RELOAD, SHOW DATABASES, REPLICATION SLAVE, REPLICATION CLIENT%s ON *.* TO %s",
				cfg.User, err, map[string]string{mysql.MariaDBFlavor: ", BINLOG MONITOR"}[s.flavor], s.account(cfg.User)))
		}
		return err
	}
	return s.checkTables(cfg)
}

// checkTables refuses filters that capture nothing: a typo, most of the time.
func (s *server) checkTables(cfg *Config) error {
	f, err := newFilter(cfg)
	if err != nil {
		return err
	}
	tables, err := s.tables(f)
	if err != nil {
		return err
	}
	if len(tables) == 0 && len(cfg.TableInclude) > 0 {
		return connectapi.ConfigError("table.include.list", fmt.Errorf("no table of the server matches table.include.list=%s; names are database.table", strings.Join(cfg.TableInclude, ",")))
	}
	return nil
}

type tableName struct{ db, name string }

// tables lists base tables that are captured, sorted.
func (s *server) tables(f *filter) ([]tableName, error) {
	r, err := s.Execute("SELECT table_schema, table_name FROM information_schema.tables WHERE table_type IN ('BASE TABLE','SYSTEM VERSIONED') ORDER BY 1, 2")
	if err != nil {
		return nil, fmt.Errorf("listing tables: %w", err)
	}
	defer r.Close()
	var out []tableName
	for i := range r.RowNumber() {
		db, err1 := text(r, i, 0)
		name, err2 := text(r, i, 1)
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		if f.table(db, name) {
			out = append(out, tableName{db, name})
		}
	}
	return out, nil
}

// logPosition is a place in the binary log.
type logPosition struct {
	File string
	Pos  uint64
	GTID string // executed set; empty: the server has none
}

func (s *server) position() (logPosition, error) {
	r, err := s.Execute("SHOW MASTER STATUS")
	if code(err) == mysql.ER_PARSE_ERROR {
		r, err = s.Execute("SHOW BINARY LOG STATUS") // MySQL 8.4 and later
	}
	if err != nil {
		return logPosition{}, fmt.Errorf("reading the server's log position: %w", err)
	}
	defer r.Close()
	if r.RowNumber() == 0 {
		return logPosition{}, errors.New("reading the server's log position: binary logging is off")
	}
	file, err := text(r, 0, 0)
	if err != nil {
		return logPosition{}, err
	}
	pos, err := r.GetUint(0, 1)
	if err != nil {
		return logPosition{}, err
	}
	p := logPosition{File: file, Pos: pos}
	if s.flavor == mysql.MariaDBFlavor {
		p.GTID, err = s.one("SELECT @@global.gtid_binlog_pos")
	} else if r.ColumnNumber() >= 5 {
		p.GTID, err = text(r, 0, 4)
		p.GTID = strings.ReplaceAll(p.GTID, "\n", "")
	}
	return p, err
}

// hasFile tells whether the server still has a log file, and its oldest one.
func (s *server) hasFile(file string) (has bool, oldest string, err error) {
	r, err := s.Execute("SHOW BINARY LOGS")
	if err != nil {
		return false, "", fmt.Errorf("listing the server's log files: %w", err)
	}
	defer r.Close()
	for i := range r.RowNumber() {
		name, err := text(r, i, 0)
		if err != nil {
			return false, "", err
		}
		if i == 0 {
			oldest = name
		}
		has = has || name == file
	}
	return has, oldest, nil
}

func quoteName(s string) string { return "`" + strings.ReplaceAll(s, "`", "``") + "`" }

func quoteText(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

// text gives a field as a string of its own: the result's memory is reused once it is closed.
func text(r *mysql.Result, row, column int) (string, error) {
	s, err := r.GetString(row, column)
	return strings.Clone(s), err
}
