package mysql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"

	connectapi "github.com/penstockio/penstock/connect-api"
)

// streamer follows the log from a position.
type streamer struct {
	k  *task
	at position // end of the last whole transaction

	file string // being read
	pos  uint64 // end of the last event read

	// passedFile and passedPos are the end of the last row event handed on: after a reconnect, events up to it are the same
	// again and are dropped.
	passedFile string
	passedPos  uint64

	inTx    bool
	gtid    string
	gtids   mysql.GTIDSet // completed transactions
	thread  int64
	micros  int64 // commit time, where the log tells it exactly
	tables  map[uint64]*capture
	flushed time.Time // when a position was last given out
}

// stream follows the log until ctx ends or something cannot be mended by connecting again.
func (k *task) stream(ctx context.Context, at position) error {
	s := &streamer{k: k, at: at, tables: map[uint64]*capture{}, flushed: time.Now()}
	if at.GTIDs != "" {
		set, err := mysql.ParseGTIDSet(k.srv.flavor, at.GTIDs)
		if err != nil {
			return fmt.Errorf("reading the stored GTID set %q: %w", at.GTIDs, err)
		}
		s.gtids = set
	}
	_ = k.srv.Close() // its work is done; schemas are proved over connections of their own
	wait := time.Second
	for again := false; ; again = true {
		begun := time.Now()
		var err error
		if again {
			err = s.rejoin(ctx)
		}
		if err == nil {
			err = s.follow(ctx)
		}
		if ctx.Err() != nil {
			return nil
		}
		if fatal := s.fatal(err); fatal != nil {
			return fatal
		}
		if time.Since(begun) > time.Minute {
			wait = time.Second
		}
		k.log.Warn("the connection to the log broke, connecting again", "error", err, "file", s.at.File, "pos", s.at.Pos, "in", wait.String())
		k.ctx.Report(fmt.Sprintf("connecting to %s again: %v", k.cfg.addr(), err), nil)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil
		}
		wait = min(2*wait, time.Minute)
	}
}

// fatal tells errors that connecting again cannot mend.
func (s *streamer) fatal(err error) error {
	var server *mysql.MyError
	var net net.Error
	var unusable *unusableError
	var away *connectapi.Error
	switch {
	case errors.As(err, &unusable):
		return err
	case errors.As(err, &away) && connectapi.KindOf(errors.Unwrap(away)) == connectapi.NotConnected:
		return nil // the server is not back yet
	case errors.As(err, &server):
		switch {
		case server.Code == mysql.ER_MASTER_FATAL_ERROR_READING_BINLOG:
			return fmt.Errorf("the server cannot go on from %s:%d: %w. If its log was purged or it is another server, take a new snapshot with snapshot.mode=when_needed", s.at.File, s.at.Pos, err)
		case isAuth(err):
			return s.k.cfg.explainConnect(err)
		case server.Code == 4052:
			return fmt.Errorf("another replica with database.server.id=%d is connected: choose an id of its own for each connector: %w", s.k.serverID, err)
		}
		return nil
	case err == nil, errors.As(err, &net), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, mysql.ErrBadConn),
		errors.Is(err, replication.ErrSyncClosed), errors.Is(err, replication.ErrNeedSyncAgain):
		return nil
	}
	return err
}

func (s *streamer) config() (replication.BinlogSyncerConfig, error) {
	cfg := &s.k.cfg
	tlsCfg, err := cfg.tls()
	if err != nil {
		return replication.BinlogSyncerConfig{}, err
	}
	alive := time.Duration(cfg.KeepAlive) * time.Millisecond
	return replication.BinlogSyncerConfig{
		ServerID: s.k.serverID, Flavor: s.k.srv.flavor, Host: cfg.Host, Port: uint16(cfg.Port), User: cfg.User, Password: cfg.Password,
		TLSConfig: tlsCfg, TimestampStringLocation: time.UTC, UseFloatWithTrailingZero: true, RenderJSONAsMySQLText: true,
		HeartbeatPeriod: alive * 8 / 10, ReadTimeout: alive * 2, DisableRetrySync: true, EventCacheCount: 64, FillZeroLogPos: true,
		Logger: slog.New(slog.DiscardHandler), VerifyChecksum: true, DiscardGTIDSet: true,
		Option: func(c *client.Conn) error {
			_, err := c.Execute("SET SESSION net_write_timeout=600, net_read_timeout=600")
			return err
		},
	}, nil
}

// follow reads events over one connection.
func (s *streamer) follow(ctx context.Context) error {
	cfg, err := s.config()
	if err != nil {
		return err
	}
	syncer := replication.NewBinlogSyncer(cfg)
	defer syncer.Close()
	s.file, s.pos, s.inTx = s.at.File, s.at.Pos, false
	clear(s.tables)
	events, err := s.start(syncer)
	if err != nil {
		return err
	}
	s.k.ctx.Report("", nil)
	for {
		e, err := events.GetEvent(ctx)
		if err != nil {
			return err
		}
		if err := s.handle(ctx, e); err != nil {
			return err
		}
		for _, e := range events.DumpEvents() { // what is there already, before rows are handed on
			if err := s.handle(ctx, e); err != nil {
				return err
			}
		}
		s.due()
		if err := s.k.flush(ctx); err != nil {
			return err
		}
	}
}

// start joins the log where the last whole transaction ended.
func (s *streamer) start(syncer *replication.BinlogSyncer) (*replication.BinlogStreamer, error) {
	id := strconv.FormatUint(uint64(s.k.serverID), 10) // text: it is a name
	if s.k.byGTID && s.gtids != nil {
		s.k.log.Info("following the log", "gtids", s.gtids.String(), "server_id", id)
		return syncer.StartSyncGTID(s.gtids.Clone()) // it changes the set it is given
	}
	s.k.log.Info("following the log", "file", s.at.File, "pos", s.at.Pos, "server_id", id)
	return syncer.StartSync(mysql.Position{Name: s.at.File, Pos: uint32(s.at.Pos)})
}

// handle takes one event in.
func (s *streamer) handle(ctx context.Context, e *replication.BinlogEvent) error {
	if e.Header.LogPos > 0 {
		s.pos = uint64(e.Header.LogPos)
	}
	if err := s.dispatch(ctx, e); err != nil {
		return fmt.Errorf("event %s at %s:%d: %w", e.Header.EventType, s.file, s.pos-uint64(e.Header.EventSize), err)
	}
	if s.k.chunk().full() {
		return s.k.flush(ctx)
	}
	return nil
}

func (s *streamer) dispatch(ctx context.Context, e *replication.BinlogEvent) error {
	switch ev := e.Event.(type) {
	case *replication.RotateEvent:
		s.file, s.pos = string(ev.NextLogName), ev.Position
		clear(s.tables)
		if e.Header.Timestamp != 0 && !s.inTx { // a real one; the artificial one at a start is no progress
			s.at.File, s.at.Pos = s.file, s.pos
		}
	case *replication.MariadbGTIDEvent:
		s.begin(ev.GTID.String(), 0, !ev.IsStandalone()) // without a BEGIN of its own
	case *replication.GTIDEvent:
		set, err := ev.GTIDNext()
		if err != nil {
			return err
		}
		s.begin(set.String(), int64(ev.OriginalCommitTimestamp), false) // microseconds since 1970
	case *replication.QueryEvent:
		return s.query(e.Header, ev)
	case *replication.TableMapEvent:
		return s.table(ctx, ev)
	case *replication.RowsEvent:
		return s.rows(e.Header, ev)
	case *replication.TransactionPayloadEvent:
		for _, inner := range ev.Events {
			if err := s.dispatch(ctx, inner); err != nil {
				return err
			}
		}
	case *replication.XIDEvent:
		s.commit(e.Header)
	}
	return nil
}

func (s *streamer) begin(gtid string, micros int64, inTx bool) {
	s.gtid, s.micros, s.inTx, s.thread = gtid, micros, inTx, 0
}

// commit ends a transaction: behind its rows stands a position (I1).
func (s *streamer) commit(h *replication.EventHeader) {
	s.inTx = false
	if s.gtid != "" {
		s.addGTID()
	}
	s.at = position{File: s.file, Pos: s.pos, Seconds: int64(h.Timestamp), ServerID: h.ServerID}
	if s.gtids != nil {
		s.at.GTIDs = s.gtids.String()
	}
	if len(s.k.chunk().rows) > 0 {
		s.k.chunk().position(s.at)
		s.flushed = time.Now()
	}
}

func (s *streamer) addGTID() {
	if s.gtids == nil {
		set, err := mysql.ParseGTIDSet(s.k.srv.flavor, s.gtid)
		if err == nil {
			s.gtids = set
		}
		return
	}
	if err := s.gtids.Update(s.gtid); err != nil {
		s.k.log.Warn("a GTID could not be added to the set of completed ones", "gtid", s.gtid, "error", err)
	}
}

// due gives a position out now and then although no captured row changed, so that a quiet table's offset stays within
// what the server keeps.
func (s *streamer) due() {
	if s.inTx || time.Since(s.flushed) < time.Second || s.k.chunk().hasPos {
		return
	}
	s.k.chunk().position(s.at)
	s.flushed = time.Now()
}

func (s *streamer) query(h *replication.EventHeader, ev *replication.QueryEvent) error {
	st := classify(string(ev.Query))
	switch {
	case st.is("BEGIN"):
		s.inTx, s.thread = true, int64(ev.SlaveProxyID)
		return nil
	case st.is("COMMIT"), st.is("ROLLBACK") && !st.is("ROLLBACK", "TO"):
		s.commit(h)
		return nil
	case st.schemaChange():
		if st.is("TRUNCATE") {
			if err := s.truncate(h, ev, st); err != nil {
				return err
			}
		}
		at := position{File: s.file, Pos: s.pos, Seconds: int64(h.Timestamp), GTIDs: s.at.GTIDs}
		if err := s.k.schemas.apply(at, string(ev.Schema), st); err != nil {
			return err
		}
		clear(s.tables)
		s.commit(h)
		return nil
	case st.changesRows() && s.k.filter.database(string(ev.Schema)):
		return fmt.Errorf("a session logged a statement (%s …) instead of rows in database %s, so its changes cannot be read: "+
			"let no session set binlog_format; then take a new snapshot (delete the connector's offsets)", st.words[0], ev.Schema)
	}
	if !s.inTx {
		s.commit(h)
	}
	return nil
}

// truncate sends the t event, unless it is skipped as it is by default.
func (s *streamer) truncate(h *replication.EventHeader, ev *replication.QueryEvent, st statement) error {
	n, ok := truncated(st.text, string(ev.Schema))
	if !ok {
		return nil
	}
	t := s.k.schemas.tables[n.id()]
	if t == nil || !s.k.filter.table(n.db, n.name) {
		return nil
	}
	c, err := s.k.schemas.capture(t)
	if err != nil {
		return err
	}
	o := s.origin(h, 0)
	return c.add(s.k.chunk(), "t", nil, nil, nil, false, &o, time.Now(), &s.k.cfg, nil)
}

func (s *streamer) table(ctx context.Context, m *replication.TableMapEvent) error {
	db, name := string(m.Schema), string(m.Table)
	if !s.k.filter.table(db, name) {
		delete(s.tables, m.TableID)
		return nil
	}
	t, err := s.k.schemas.prove(ctx, m, position{File: s.file, Pos: s.pos, GTIDs: s.at.GTIDs})
	if err != nil {
		return err
	}
	c, err := s.k.schemas.capture(t)
	if err != nil {
		return err
	}
	s.tables[m.TableID] = c
	return nil
}

func (s *streamer) origin(h *replication.EventHeader, row int) origin {
	micros := s.micros
	if micros == 0 {
		micros = int64(h.Timestamp) * 1e6
	}
	return origin{
		connector: s.k.name, name: s.k.cfg.Prefix, micros: micros, serverID: h.ServerID, gtid: s.gtid, file: s.file,
		pos: s.pos - uint64(h.EventSize), row: int32(row), thread: s.thread,
	}
}

func (s *streamer) rows(h *replication.EventHeader, ev *replication.RowsEvent) error {
	c := s.tables[ev.TableID]
	if c == nil {
		return nil
	}
	if s.passedFile == s.file && s.pos <= s.passedPos {
		return nil // handed on before the connection broke
	}
	kind := ev.Type()
	step := 1
	if kind == replication.EnumRowsEventTypeUpdate {
		step = 2
	}
	for i := 0; i+step <= len(ev.Rows); i += step {
		o := s.origin(h, i/step)
		var err error
		switch kind {
		case replication.EnumRowsEventTypeInsert:
			err = c.emit(s.k.chunk(), "c", nil, ev.Rows[i], false, &o, &s.k.cfg)
		case replication.EnumRowsEventTypeDelete:
			err = c.emit(s.k.chunk(), "d", ev.Rows[i], nil, false, &o, &s.k.cfg)
		case replication.EnumRowsEventTypeUpdate:
			err = c.emit(s.k.chunk(), "u", ev.Rows[i], ev.Rows[i+1], false, &o, &s.k.cfg)
		default:
			err = fmt.Errorf("a kind of row event that is not known")
		}
		if err != nil {
			return fmt.Errorf("row %d: %w", i/step, err)
		}
	}
	s.passedFile, s.passedPos = s.file, s.pos
	return nil
}
