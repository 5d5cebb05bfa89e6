package connectapi

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

type sampleConfig struct {
	File     string        `connect:"file,required,format=path,example=/x" doc:"A file."`
	Batch    int32         `connect:"batch.size,default=2000,min=1,max=5000,group=Reading,width=short" doc:"Lines."`
	Mode     string        `connect:"mode,default=fast,one_of=fast|safe,group=Reading,dependents=wait.ms" doc:"Mode."`
	Wait     time.Duration `connect:"wait.ms,default=250" doc:"Wait."`
	Tables   []string      `connect:"tables" default:"a, b" doc:"Tables."`
	Password Password      `connect:"password" doc:"Secret."`
	Ratio    float64       `connect:"ratio,default=0.5" doc:"Ratio."`
	Small    int16         `connect:"small,default=1" doc:"Small."`
	On       bool          `connect:"on,default=false" doc:"On."`
	Long     int64         `connect:"long,default=1,internal" doc:"Long."`
	ignored  int           //nolint:unused // a field without a tag is no key
}

func sampleDef(t *testing.T) *ConfigDef {
	t.Helper()
	d, err := ConfigOf[sampleConfig]()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestConfigErrorsInKafkasWords(t *testing.T) {
	d := sampleDef(t)
	for _, c := range []struct{ key, value, says string }{
		{"batch.size", "0", "Invalid value 0 for configuration batch.size: Value must be at least 1"},
		{"batch.size", "5001", "Invalid value 5001 for configuration batch.size: Value must be no more than 5000"},
		{"batch.size", "x", "Invalid value x for configuration batch.size: Not a number of type INT"},
		{"batch.size", "3000000000", "Invalid value 3000000000 for configuration batch.size: Not a number of type INT"},
		{"small", "40000", "Invalid value 40000 for configuration small: Not a number of type SHORT"},
		{"long", "1.5", "Invalid value 1.5 for configuration long: Not a number of type LONG"},
		{"ratio", "y", "Invalid value y for configuration ratio: Not a number of type DOUBLE"},
		{"on", "yes", "Invalid value yes for configuration on: Expected value to be either true or false"},
		{"mode", "slow", "Invalid value slow for configuration mode: String must be one of: fast, safe"},
	} {
		_, err := d.Parse(map[string]string{"file": "f", c.key: c.value})
		if err == nil || err.Error() != c.says {
			t.Errorf("%s=%s: %v", c.key, c.value, err)
		}
	}
	_, err := d.Parse(nil)
	if err == nil || err.Error() != `Missing required configuration "file" which has no default value.` {
		t.Errorf("missing: %v", err)
	}
	secret, _ := d.Key("password")
	secret.Validators = append(secret.Validators, func(any) error { return errors.New("too short") })
	if _, err := d.Parse(map[string]string{"file": "f", "password": "hunter2"}); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a secret in an error, or none: %v", err)
	}
}

func TestConfigDecodesAndEncodes(t *testing.T) {
	d := sampleDef(t)
	values := map[string]string{"file": " f ", "tables": "x ,y,z", "on": "TRUE", "password": "p", "other": "kept", "wait.ms": "1500"}
	cfg, err := DecodeConfig[sampleConfig](d, values)
	if err != nil {
		t.Fatal(err)
	}
	want := sampleConfig{
		File: "f", Batch: 2000, Mode: "fast", Wait: 1500 * time.Millisecond, Tables: []string{"x", "y", "z"}, Password: "p",
		Ratio: 0.5, Small: 1, On: true, Long: 1,
	}
	if !reflect.DeepEqual(cfg, want) {
		t.Fatalf("%+v", cfg)
	}
	if s := fmt.Sprintf("%v %+v %#v", cfg, cfg, cfg.Password); strings.Contains(s, "Password:p") || !strings.Contains(s, Hidden) {
		t.Errorf("a secret is printed: %s", s)
	}
	cfg.Tables, cfg.Long = []string{"x"}, 7
	out := EncodeConfig(d, cfg, values)
	again, err := DecodeConfig[sampleConfig](d, out)
	if err != nil || !reflect.DeepEqual(again, cfg) || out["other"] != "kept" || out["password"] != "p" {
		t.Fatalf("%v became %+v, %v", out, again, err)
	}
	if r := d.Redact(map[string]string{"password": "p", "file": "f", "some.secret": "s"}); r["password"] != Hidden || r["file"] != "f" || r["some.secret"] != Hidden {
		t.Errorf("redacted: %v", r)
	}
}

func TestConfigDefinition(t *testing.T) {
	d := sampleDef(t)
	k, _ := d.Key("batch.size")
	if k.Group != "Reading" || k.Order != 1 || k.Width != ShortWidth || k.Display != "batch.size" || k.Importance != Medium {
		t.Errorf("batch.size: %+v", k)
	}
	if k, _ := d.Key("mode"); k.Order != 2 || !slices.Equal(k.Dependents, []string{"wait.ms"}) {
		t.Errorf("mode: %+v", k)
	}
	if k, _ := d.Key("file"); k.Order != -1 || k.Importance != High || !k.Required || k.Format != "path" {
		t.Errorf("file: %+v", k)
	}
	if k, _ := d.Key("wait.ms"); k.Type != LongConfig {
		t.Errorf("wait.ms: %v", k.Type)
	}
	v := d.Validate(map[string]string{"file": "f", "mode": "x"})
	if len(v) != 10 || v[2].Errors == nil || !slices.Equal(v[2].Recommended, []string{"fast", "safe"}) || v[5].Value != nil || !v[5].Visible {
		t.Errorf("validation: %+v", v)
	}
	one := "1"
	for _, bad := range []ConfigKey{
		{Name: "file"}, {}, {Name: "r", Required: true, Default: &one}, {Name: "d", Type: BooleanConfig, Default: &one},
	} {
		if err := d.Define(bad); err == nil {
			t.Errorf("defined: %+v", bad)
		}
	}
}

func TestSourceDefinition(t *testing.T) {
	src := Source[sampleConfig]{
		Info: Info{Name: "s"},
		Validate: func(_ context.Context, cfg sampleConfig) error {
			return errors.Join(ConfigError("file", errors.New("not "+cfg.File)), ConfigError("mode", errors.New("no")))
		},
		Tasks: func(_ context.Context, cfg sampleConfig, most int) ([]sampleConfig, error) {
			cfg.Long = 9
			return []sampleConfig{cfg}, nil
		},
		Open: func(context.Context, sampleConfig, SourceContext) (SourceTask, error) { return nil, nil },
	}
	d, err := src.Definition()
	if err != nil {
		t.Fatal(err)
	}
	f, err := d.Validate(t.Context(), map[string]string{"file": "x"})
	if err != nil || len(f) != 2 || f[0].Key != "file" || f[0].Errors[0] != "not x" {
		t.Fatalf("%v, %v", f, err)
	}
	tasks, err := d.Tasks(t.Context(), map[string]string{"file": "x", "mode": "safe"}, 3)
	if err != nil || len(tasks) != 1 || tasks[0]["long"] != "9" || tasks[0]["mode"] != "safe" {
		t.Fatalf("%v, %v", tasks, err)
	}
	if _, err := (Source[sampleConfig]{}).Definition(); err == nil {
		t.Error("a connector without a name")
	}
	if _, err := (Source[struct {
		C complex64 `connect:"c"`
	}]{Info: Info{Name: "x"}, Open: nil}).Definition(); err == nil {
		t.Error("a field of no configuration type")
	}
}

func TestErrorKinds(t *testing.T) {
	for _, c := range []struct {
		err  error
		kind Kind
	}{
		{errors.New("x"), System},
		{fmt.Errorf("opening: %w", ConfigError("k", errors.New("x"))), Config},
		{fmt.Errorf("reading: %w", Retry(errors.New("x"), time.Second)), Transient},
		{&ValueError{Problem: "x"}, Data},
		{NotConnectedError(errors.New("x")), NotConnected},
	} {
		if k := KindOf(c.err); k != c.kind {
			t.Errorf("%v is %s, want %s", c.err, k, c.kind)
		}
	}
	if e := AsError(fmt.Errorf("opening: %w", ConfigError("k", errors.New("x")))); e.Key != "k" || e.Error() != "opening: x" {
		t.Errorf("%+v", e)
	}
}

func TestPositions(t *testing.T) {
	p, err := CanonicalPartition([]byte(`{ "server" : "a<b", "n": 12345678901234567 }`))
	if err != nil || p != `{"n":12345678901234567,"server":"a<b"}` || p != NewPartition("server", "a<b", "n", int64(12345678901234567)) {
		t.Fatalf("%s, %v", p, err)
	}
	f, err := p.Fields()
	if err != nil || f["n"] != int64(12345678901234567) {
		t.Fatalf("%v, %v", f, err)
	}
	for _, bad := range []string{`[]`, `{"a":{}}`, `{"a":[1]}`, `x`, `{} {}`, `null`} {
		if p, err := CanonicalPartition([]byte(bad)); err == nil {
			t.Errorf("%s was taken as %s", bad, p)
		}
	}
	if o, err := CanonicalOffset([]byte("null")); o != "" || err != nil {
		t.Errorf("null: %q, %v", o, err)
	}
}
