package mysql

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-mysql-org/go-mysql/mysql"
)

// snapshot reads all captured tables as they are at one position of the log, and gives that position. Rows carry no
// position until the last: a snapshot that is cut off starts again (I1).
func (k *task) snapshot(ctx context.Context, rows bool) (position, error) {
	start := time.Now()
	lp, err := k.consistent()
	if err != nil {
		return position{}, fmt.Errorf("starting a consistent snapshot: %w", err)
	}
	at := position{File: lp.File, Pos: lp.Pos, GTIDs: lp.GTID, Seconds: start.Unix()}
	names, err := k.srv.tables(k.filter)
	if err != nil {
		return at, err
	}
	k.log.Info("snapshot begins", "tables", len(names), "file", at.File, "pos", at.Pos, "gtid", at.GTIDs)
	var tables []*Table
	for _, n := range names {
		t, err := k.srv.read(n.db, n.name)
		if err != nil {
			return at, err
		}
		tables = append(tables, t)
	}
	if err := k.release(); err != nil {
		return at, err
	}
	if err := k.schemas.begin(ctx, at, tables); err != nil {
		return at, err
	}
	total := 0
	if rows {
		for i, t := range tables {
			n, err := k.readTable(ctx, t, at, i == 0, i == len(tables)-1, total)
			if err != nil {
				return at, fmt.Errorf("reading table %s in the snapshot: %w", t.id(), err)
			}
			total += n
			k.log.Info("snapshot of a table is done", "table", t.id(), "rows", n)
		}
	}
	if _, err := k.srv.Execute("COMMIT"); err != nil {
		return at, fmt.Errorf("ending the snapshot: %w", err)
	}
	k.chunk().position(at)
	if err := k.flush(ctx); err != nil {
		return at, err
	}
	k.log.Info("snapshot is done", "rows", total, "seconds", time.Since(start).Seconds())
	return at, nil
}

// consistent begins a transaction whose view stands exactly at the position it gives. MariaDB tells the position of a view
// without any lock; MySQL needs a global read lock for a moment.
func (k *task) consistent() (logPosition, error) {
	if _, err := k.srv.Execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"); err != nil {
		return logPosition{}, err
	}
	if k.srv.flavor == mysql.MariaDBFlavor {
		return k.consistentMariaDB()
	}
	if _, err := k.srv.Execute(fmt.Sprintf("SET SESSION lock_wait_timeout=%d", max(k.cfg.LockTimeout/1000, 1))); err != nil {
		return logPosition{}, err
	}
	if _, err := k.srv.Execute("FLUSH TABLES WITH READ LOCK"); err != nil {
		if code(err) == mysql.ER_SPECIFIC_ACCESS_DENIED_ERROR {
			return logPosition{}, fmt.Errorf("user %s may not take the global read lock: GRANT RELOAD ON *.* TO %s: %w", k.cfg.User, k.srv.account(k.cfg.User), err)
		}
		return logPosition{}, fmt.Errorf("taking the global read lock within snapshot.lock.timeout.ms=%d (a long query may hold it back: see SHOW PROCESSLIST): %w", k.cfg.LockTimeout, err)
	}
	if _, err := k.srv.Execute("START TRANSACTION WITH CONSISTENT SNAPSHOT"); err != nil {
		return logPosition{}, errors.Join(err, k.release())
	}
	p, err := k.srv.position()
	if err != nil {
		return p, errors.Join(err, k.release())
	}
	return p, nil
}

func (k *task) consistentMariaDB() (logPosition, error) {
	if _, err := k.srv.Execute("START TRANSACTION WITH CONSISTENT SNAPSHOT"); err != nil {
		return logPosition{}, err
	}
	r, err := k.srv.Execute("SHOW STATUS LIKE 'binlog_snapshot_%'")
	if err != nil {
		return logPosition{}, err
	}
	defer r.Close()
	var p logPosition
	for i := range r.RowNumber() {
		name, _ := text(r, i, 0)
		value, _ := text(r, i, 1)
		switch strings.ToLower(name) {
		case "binlog_snapshot_file":
			p.File = value
		case "binlog_snapshot_position":
			_, err = fmt.Sscan(value, &p.Pos)
		}
	}
	if err != nil || p.File == "" || p.Pos == 0 {
		return p, fmt.Errorf("the server did not tell the log position of the snapshot (binlog_snapshot_file=%q): %w", p.File, err)
	}
	p.GTID, err = k.srv.one(fmt.Sprintf("SELECT BINLOG_GTID_POS(%s,%d)", quoteText(p.File), p.Pos))
	return p, err
}

// release gives the global lock back, if one is held.
func (k *task) release() error {
	if k.srv.flavor == mysql.MariaDBFlavor {
		return nil
	}
	if _, err := k.srv.Execute("UNLOCK TABLES"); err != nil {
		return fmt.Errorf("giving the global read lock back: %w", err)
	}
	return nil
}

// readTable streams one table. The binary protocol gives values that text would round.
func (k *task) readTable(ctx context.Context, t *Table, at position, firstTable, lastTable bool, before int) (int, error) {
	c, err := k.schemas.capture(t)
	if err != nil {
		return 0, err
	}
	names := make([]string, len(t.Columns))
	for i, col := range t.Columns {
		names[i] = quoteName(col.Name)
	}
	st, err := k.srv.Prepare("SELECT " + strings.Join(names, ",") + " FROM " + quoteName(t.DB) + "." + quoteName(t.Name))
	if err != nil {
		return 0, err
	}
	defer func() { _ = st.Close() }()
	o := origin{connector: k.name, name: k.cfg.Prefix, micros: at.Seconds * 1e6, gtid: "", file: at.File, pos: at.Pos, serverID: 0}
	row := make([]any, len(t.Columns))
	held := make([]any, len(t.Columns)) // one row is held back, so that the last can be marked
	n := 0
	send := func(values []any, last bool) error {
		o.snapshot = mark(firstTable && n == 1 && before == 0, n == 1, last, last && lastTable)
		if err := c.emit(k.chunk(), "r", nil, values, true, &o, &k.cfg); err != nil {
			return err
		}
		if k.cur.full() {
			k.ctx.Report("", map[string]float64{"snapshot_rows": float64(before + n)})
			return k.flush(ctx)
		}
		return nil
	}
	have := false
	var result mysql.Result
	err = st.ExecuteSelectStreaming(&result, func(fv []mysql.FieldValue) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if have {
			n++
			if err := send(held, false); err != nil {
				return err
			}
		}
		for i := range fv {
			row[i] = copyValue(&fv[i])
		}
		row, held = held, row
		have = true
		return nil
	}, nil)
	if err != nil {
		return n, err
	}
	if have {
		n++
		if err := send(held, true); err != nil {
			return n, err
		}
	}
	return n, nil
}

// mark is source.snapshot of a row.
func mark(first, firstInTable, lastInTable, last bool) string {
	switch {
	case first:
		return "first"
	case last:
		return "last"
	case lastInTable:
		return "last_in_data_collection"
	case firstInTable:
		return "first_in_data_collection"
	}
	return "true"
}

// copyValue takes a field out of the connection's buffer, which the next row reuses.
func copyValue(f *mysql.FieldValue) any {
	v := f.Value()
	if b, ok := v.([]byte); ok {
		return append([]byte{}, b...)
	}
	return v
}
