package mysql

import (
	"fmt"
	"strconv"

	connectapi "github.com/penstockio/penstock/connect-api"
)

// position is where to go on: Debezium's offset keys.
type position struct {
	File     string
	Pos      uint64 // end of the last whole transaction
	GTIDs    string // completed transactions
	Seconds  int64  // time of the event behind it
	ServerID uint32
	Snapshot bool // a snapshot is not over: it starts again
}

func partitionOf(prefix string) connectapi.Partition {
	return connectapi.NewPartition("server", prefix)
}

func (p position) offset() connectapi.Offset {
	pairs := []any{"file", p.File, "pos", int64(p.Pos), "ts_sec", p.Seconds}
	if p.GTIDs != "" {
		pairs = append(pairs, "gtids", p.GTIDs)
	}
	if p.ServerID != 0 {
		pairs = append(pairs, "server_id", int64(p.ServerID))
	}
	if p.Snapshot {
		pairs = append(pairs, "snapshot", "INITIAL")
	}
	return connectapi.NewOffset(pairs...)
}

// skip is how much of the transaction behind a position was already handled: Debezium's event and row.
type skip struct{ Events, Rows int64 }

// parseOffset reads an offset of ours or of Debezium's.
func parseOffset(o connectapi.Offset) (position, skip, error) {
	m, err := o.Fields()
	if err != nil {
		return position{}, skip{}, err
	}
	text := func(k string) string { s, _ := m[k].(string); return s }
	num := func(k string) int64 {
		switch v := m[k].(type) {
		case int64:
			return v
		case string:
			n, _ := strconv.ParseInt(v, 10, 64)
			return n
		}
		return 0
	}
	p := position{File: text("file"), Pos: uint64(num("pos")), GTIDs: text("gtids"), Seconds: num("ts_sec"), ServerID: uint32(num("server_id"))}
	_, p.Snapshot = m["snapshot"]
	if p.File == "" || p.Pos == 0 {
		return p, skip{}, fmt.Errorf("the stored offset %s has no file and pos: delete the connector's offsets to begin again", o)
	}
	return p, skip{Events: num("event"), Rows: num("row")}, nil
}
