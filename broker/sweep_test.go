package broker

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// fillings are the ways a request's fields are filled: what is in arrays, in nullable fields and in tags.
var fillings = []struct {
	name       string
	nulls      bool // null arrays, strings and bytes
	items      int  // of each array
	tags       bool // fields nobody knows
	extremes   bool // the largest numbers instead of small ones
	emptyTexts bool
}{
	{name: "nulls", nulls: true},
	{name: "empty arrays"},
	{name: "one of each", items: 1},
	{name: "two of each with unknown tags", items: 2, tags: true},
	{name: "extremes", items: 1, extremes: true},
	{name: "empty texts", items: 1, emptyTexts: true},
}

// fill fills a request's fields by reflection; what would make an honest server wait is kept short.
func fill(req kmsg.Request, how int) kmsg.Request {
	version := req.GetVersion()
	f := fillings[how]
	var walk func(v reflect.Value, name string)
	walk = func(v reflect.Value, name string) {
		switch v.Kind() {
		case reflect.Struct:
			if v.Type() == reflect.TypeFor[kmsg.Tags]() {
				if f.tags && req.IsFlexible() {
					v.Addr().Interface().(*kmsg.Tags).Set(99, []byte("unknown"))
				}
				return
			}
			for i := range v.NumField() {
				if n := v.Type().Field(i).Name; v.Field(i).CanSet() && n != "Version" {
					walk(v.Field(i), n)
				}
			}
		case reflect.Pointer:
			if f.nulls {
				v.SetZero()
				return
			}
			v.Set(reflect.New(v.Type().Elem()))
			walk(v.Elem(), name)
		case reflect.Slice:
			switch {
			case f.nulls:
				v.SetZero()
			case v.Type().Elem().Kind() == reflect.Uint8:
				v.SetBytes([]byte{1, 2, 3})
			default:
				v.Set(reflect.MakeSlice(v.Type(), f.items, f.items))
				for i := range f.items {
					if d, ok := v.Index(i).Addr().Interface().(interface{ Default() }); ok {
						d.Default()
					}
					walk(v.Index(i), name)
				}
			}
		case reflect.String:
			v.SetString("swept")
			if f.emptyTexts || f.nulls {
				v.SetString("")
			}
		case reflect.Bool:
			v.SetBool(f.items == 1)
		case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
			switch bits := v.Type().Bits(); {
			case strings.Contains(name, "Wait"): // how long a Fetch may park
				v.SetInt(1)
			case f.extremes:
				v.SetInt(1<<(bits-1) - 1)
			default:
				v.SetInt(int64(f.items))
			}
		}
	}
	walk(reflect.ValueOf(req).Elem(), "")
	req.SetVersion(version)
	switch r := req.(type) {
	case *kmsg.ProduceRequest:
		r.Acks = 1 // with 0 nothing is answered
	case *kmsg.FetchRequest:
		r.ReplicaID, r.ReplicaState.ID = -1, -1
	}
	return req
}

// TestSweep sends every advertised request in every version, filled in every way: it is answered in its own version, or the
// connection ends; no handler panics and nothing hangs.
func TestSweep(t *testing.T) {
	b := start(t, t.TempDir(), map[string]string{"auto.create.topics.enable": "false"})
	keys := advertised(t, b)
	for how, f := range fillings {
		for _, k := range keys {
			for v := k.MinVersion; v <= k.MaxVersion; v++ {
				req := kmsg.RequestForKey(k.ApiKey)
				req.SetVersion(v)
				what := fmt.Sprintf("%s version %d, %s", kmsg.NameForKey(k.ApiKey), v, f.name)
				resp, err := dialRaw(t, b).ask(fill(req, how))
				var ne net.Error
				switch {
				case err == nil && resp.Key() != k.ApiKey:
					t.Errorf("%s is answered by %s", what, kmsg.NameForKey(resp.Key()))
				case err == nil:
				case errors.As(err, &ne) && ne.Timeout():
					t.Errorf("%s hangs", what)
				case !errors.Is(err, io.EOF):
					t.Errorf("%s: %v", what, err)
				}
			}
		}
	}
	if n := b.server.Panics(); n != 0 {
		t.Errorf("%d handlers panicked", n)
	}
}

// FuzzConnection sends a frame over a connection: it is answered or the connection ends, no handler panics, and the next
// client is served.
func FuzzConnection(f *testing.F) {
	b := start(f, f.TempDir(), map[string]string{"auto.create.topics.enable": "false"})
	for _, k := range advertised(f, b) {
		for _, v := range []int16{k.MinVersion, k.MaxVersion} {
			for how := range fillings {
				req := kmsg.RequestForKey(k.ApiKey)
				req.SetVersion(v)
				f.Add((&raw{}).frame(fill(req, how))[4:])
			}
		}
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		if len(frame) > 1<<16 {
			return
		}
		nc, err := b.Dial(t.Context(), "User:fuzz")
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		_ = nc.SetDeadline(time.Now().Add(100 * time.Millisecond)) // what parks is let go
		if _, err := nc.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...)); err == nil {
			_, _ = (&raw{nc: nc}).read()
		}
		if n := b.server.Panics(); n != 0 {
			t.Fatalf("%d handlers panicked", n)
		}
	})
}
