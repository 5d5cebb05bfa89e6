package mysql

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-mysql-org/go-mysql/mysql"
)

// resume decides how to go on from a stored position: by GTID where the server can prove that nothing is missing, else by
// file and position, but only of the server the position was written on. usable is false, with the reason, when neither
// works.
func (k *task) resume(_ context.Context, p position) (usable bool, why string, err error) {
	has, oldest, err := k.srv.hasFile(p.File)
	if err != nil {
		return false, "", err
	}
	gone := fmt.Sprintf("log file %s is gone, the oldest on the server is %s (purged, or another server)", p.File, oldest)
	if p.GTIDs == "" {
		return has, gone, nil
	}
	if k.srv.flavor == mysql.MariaDBFlavor {
		return k.resumeMariaDB(p, has, oldest, gone)
	}
	mode, err := k.srv.variable("gtid_mode")
	if err != nil {
		return false, "", err
	}
	if !strings.EqualFold(mode, "ON") {
		return has, gone, nil
	}
	return k.resumeMySQL(p)
}

// resumeMariaDB joins by file and position if the server puts the stored GTIDs at that very place: then it is the same
// server and the same log. Otherwise, after a failover, it joins by GTID, unless transactions that were not read lie in front
// of the oldest log.
func (k *task) resumeMariaDB(p position, has bool, oldest, gone string) (bool, string, error) {
	if has {
		there, err := k.srv.one(fmt.Sprintf("SELECT BINLOG_GTID_POS(%s,%d)", quoteText(p.File), p.Pos))
		if err != nil {
			return false, "", err
		}
		same, err := sameSet(k.srv.flavor, there, p.GTIDs)
		if err != nil || same {
			k.byGTID = false
			return same, "", err
		}
	}
	begins, err := k.srv.one(fmt.Sprintf("SELECT BINLOG_GTID_POS(%s,4)", quoteText(oldest)))
	if err != nil {
		return false, "", err
	}
	if reached, err := reaches(p.GTIDs, begins); err != nil || !reached {
		return false, fmt.Sprintf("%s, and transactions up to %s, which were not read yet, are purged with it", gone, begins), err
	}
	k.moved = true
	k.log.Warn("the stored file and position are not of this server's log; going on by GTID", "file", p.File, "pos", p.Pos, "gtids", p.GTIDs)
	k.byGTID = true
	return true, "", nil
}

func sameSet(flavor, a, b string) (bool, error) {
	x, err1 := mysql.ParseGTIDSet(flavor, a)
	y, err2 := mysql.ParseGTIDSet(flavor, b)
	if err := errors.Join(err1, err2); err != nil {
		return false, fmt.Errorf("comparing GTID sets %q and %q: %w", a, b, err)
	}
	return x.Equal(y), nil
}

// reaches tells whether a MariaDB position is at or behind another in every domain of the other.
func reaches(position, other string) (bool, error) {
	p, err1 := mysql.ParseMariadbGTIDSet(position)
	o, err2 := mysql.ParseMariadbGTIDSet(other)
	if err := errors.Join(err1, err2); err != nil {
		return false, fmt.Errorf("comparing GTID sets %q and %q: %w", position, other, err)
	}
	last := func(set mysql.GTIDSet, domain uint32) (seq uint64) {
		if g := set.(*mysql.MariadbGTIDSet).Sets[domain]; g != nil {
			seq = g.SequenceNumber
		}
		return seq
	}
	for domain := range o.(*mysql.MariadbGTIDSet).Sets {
		if last(p, domain) < last(o, domain) {
			return false, nil
		}
	}
	return true, nil
}

// resumeMySQL joins by GTID: all that was read must have been executed there, and nothing that was not read may be purged.
func (k *task) resumeMySQL(p position) (bool, string, error) {
	uuid, err := k.srv.one("SELECT @@global.server_uuid")
	if err != nil {
		return false, "", err
	}
	k.moved = k.uuid != "" && k.uuid != uuid
	k.uuid = uuid
	subset, err := k.srv.one("SELECT GTID_SUBSET(" + quoteText(p.GTIDs) + ", @@global.gtid_executed)")
	if err != nil {
		return false, "", err
	}
	if subset != "1" {
		extra, err := k.srv.one("SELECT GTID_SUBTRACT(" + quoteText(p.GTIDs) + ", @@global.gtid_executed)")
		return false, "transactions " + extra + " were read from another server and are not on this one (errant, or not yet replicated)", err
	}
	missing, err := k.srv.one("SELECT GTID_SUBTRACT(@@global.gtid_purged, " + quoteText(p.GTIDs) + ")")
	if err != nil {
		return false, "", err
	}
	if missing != "" {
		return false, "transactions " + missing + " were not read yet and are purged from the server's log", nil
	}
	k.byGTID = true
	return true, "", nil
}

// rejoin looks at the server anew before the log is joined again: behind the same name may stand another one. Then rows are
// told apart by transaction alone, no longer by file and position.
func (s *streamer) rejoin(ctx context.Context) error {
	srv, err := connect(ctx, &s.k.cfg)
	if err != nil {
		return err
	}
	defer func() { _ = srv.Close() }()
	s.k.srv, s.k.moved = srv, false
	usable, why, err := s.k.resume(ctx, s.at)
	if err != nil {
		return err
	}
	if !usable {
		return &unusableError{fmt.Errorf("the log cannot be followed from %s:%d any more: %s", s.at.File, s.at.Pos, why)}
	}
	if s.k.moved {
		s.passedFile, s.passedPos = "", 0
	}
	return nil
}

// unusableError is a position that connecting again cannot mend.
type unusableError struct{ error }
