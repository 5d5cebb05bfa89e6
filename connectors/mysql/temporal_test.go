package mysql

import (
	"testing"
	"time"
)

func TestDaysAgreeWithTheCalendar(t *testing.T) {
	for d := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC); d.Year() < 2500; d = d.AddDate(0, 0, 13) {
		if got := days(int64(d.Year()), int64(d.Month()), int64(d.Day())); got != d.Unix()/86400-b2i(d.Unix()%86400 < 0) {
			t.Fatalf("%v is day %d", d, got)
		}
	}
}

func b2i(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func TestTemporalTexts(t *testing.T) {
	for s, want := range map[string]int64{
		"17:51:04.777": 64264777000, "-838:59:59": -3020399000000, "-00:00:00.1": -100000, "00:00:00": 0, "838:59:59.999999": 3020399999999,
	} {
		if got, err := parseClock(s); err != nil || got != want {
			t.Errorf("%s: %d %v, want %d", s, got, err, want)
		}
	}
	for s, want := range map[string]int64{
		"2018-06-20 06:37:03.123456": 1529476623123456, "1969-12-31 23:59:59.9": -100000, "9999-12-31 23:59:59.999999": 253402300799999999,
		"1582-10-10 12:00:00": -12219681600000000 + 0,
	} {
		got, ok, err := parseDatetime(s)
		if s == "1582-10-10 12:00:00" {
			want = days(1582, 10, 10)*86400*1e6 + 12*3600*1e6
		}
		if err != nil || !ok || got != want {
			t.Errorf("%s: %d %v %v, want %d", s, got, ok, err, want)
		}
	}
	for _, s := range []string{"0000-00-00", "2024-00-10", "2024-01-00", "0000-00-00 00:00:00"} {
		if _, ok, err := parseDatetime(s); ok || err != nil {
			t.Errorf("%s has an instant: %v %v", s, ok, err)
		}
	}
	for _, s := range []string{"", "2024-1-1", "not a date", "2024-13-01"} {
		if _, ok, err := parseDatetime(s); ok || err == nil {
			t.Errorf("%q passed", s)
		}
	}
	if got := string(appendZoned(nil, "2020-06-01 17:00:00.123", 6)); got != "2020-06-01T17:00:00.123000Z" {
		t.Error(got)
	}
	if got := string(appendZoned(nil, "2020-06-01 17:00:00", 0)); got != "2020-06-01T17:00:00Z" {
		t.Error(got)
	}
}

func TestCharsets(t *testing.T) {
	for _, tc := range []struct{ charset, bytes, want string }{
		{"latin1", "Gr\xf6\xdfe \x80\x81", "Größe €\u0081"},
		{"cp1251", "\xee\xe4\xe8\xed", "один"},
		{"gbk", "\xca\xfd\xbe\xdd", "数据"},
		{"utf16", "\x00a\xd8\x3d\xde\x80", "a🚀"},
		{"utf8mb4", "ok \xf0\x9f\x9a\x80", "ok 🚀"},
		{"utf8mb3", "bad \xff", "bad \ufffd"},
	} {
		got, err := appendText(nil, tc.charset, []byte(tc.bytes))
		if err != nil || string(got) != tc.want {
			t.Errorf("%s: %q %v, want %q", tc.charset, got, err, tc.want)
		}
	}
	if _, err := appendText(nil, "klingon", []byte("x")); err == nil {
		t.Error("an unknown character set passed")
	}
}

func TestOffsetsRoundTripAndTakeDebeziums(t *testing.T) {
	p := position{File: "mysql-bin.000003", Pos: 1 << 33, GTIDs: "0-1-10", Seconds: 7, ServerID: 1}
	got, sk, err := parseOffset(p.offset())
	if err != nil || got != p || sk != (skip{}) {
		t.Fatalf("%+v %+v %v", got, sk, err)
	}
	got, sk, err = parseOffset(`{"ts_sec":1,"file":"b.1","pos":154,"row":2,"event":3,"gtids":"x:1-5","server_id":9}`)
	if err != nil || got.Pos != 154 || sk != (skip{Events: 3, Rows: 2}) || got.Snapshot {
		t.Fatalf("%+v %+v %v", got, sk, err)
	}
	if got, _, _ = parseOffset(`{"file":"b.1","pos":4,"snapshot":"INITIAL"}`); !got.Snapshot {
		t.Error("a running snapshot was not seen")
	}
	if _, _, err := parseOffset(`{"x":1}`); err == nil {
		t.Error("an offset without a place passed")
	}
	for _, tc := range []struct {
		rec  historyPosition
		want bool
	}{{historyPosition{File: "b.000002", Pos: 9}, true}, {historyPosition{File: "b.000003", Pos: 4}, true}, {historyPosition{File: "b.000003", Pos: 5}, false}, {historyPosition{File: "b.000010", Pos: 1}, false}, {historyPosition{File: "other.000099", Pos: 1}, true}} {
		if got := tc.rec.upTo(position{File: "b.000003", Pos: 4}); got != tc.want {
			t.Errorf("%+v: %v", tc.rec, got)
		}
	}
}
