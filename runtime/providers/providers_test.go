package providers

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type cfg = map[string]string

func write(t *testing.T, file, content string) string {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func providers(t *testing.T, props cfg) *Providers {
	t.Helper()
	p, err := New(props)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// three configures one provider of each kind.
func three(t *testing.T) *Providers {
	return providers(t, cfg{
		"config.providers": "file, dir,env", "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
		"config.providers.dir.class": "DirectoryConfigProvider", "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
	})
}

func TestReferencesAreResolved(t *testing.T) {
	t.Setenv("PROVIDERS_TEST", "from env")
	dir := t.TempDir()
	props := write(t, filepath.Join(dir, "p.properties"), "# secrets\nuser = bob\npw: s3cret\\u0021\nempty=\n")
	write(t, filepath.Join(dir, "token"), "line one\nline two\n")
	p := three(t)
	for in, want := range map[string]string{
		"${file:" + props + ":user}":                              "bob",
		"a ${file:" + props + ":user}-${file:" + props + ":pw} b": "a bob-s3cret! b",
		"${file:" + props + ":empty}":                             "",
		"${dir:" + dir + ":token}":                                "line one\nline two\n",
		"${env:PROVIDERS_TEST}":                                   "from env",
		"${env::PROVIDERS_TEST}":                                  "from env",
		"${vault:x:y}":                                            "${vault:x:y}",
		"${topic}":                                                "${topic}",
		"$env:X ${ ${env:PROVIDERS_TEST":                          "$env:X ${ ${env:PROVIDERS_TEST",
	} {
		res, err := p.Resolve(cfg{"k": in})
		if err != nil || res.Values["k"] != want {
			t.Errorf("%s: %q %v, want %q", in, res.Values["k"], err, want)
		}
		if _, refers := res.Raw("k"); refers != (in != want) {
			t.Errorf("%s refers: %v", in, refers)
		}
	}
	var none *Providers
	if res, err := none.Resolve(cfg{"k": "${env:X}"}); err != nil || res.Values["k"] != "${env:X}" || res.Hide("x") != "x" || res.Error(nil) != nil {
		t.Error(res, err)
	}
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	t.Setenv("PROVIDERS_TEST", "hunter2")
	dir := t.TempDir()
	props := write(t, filepath.Join(dir, "p"), "pw=hunter2\n")
	bad := write(t, filepath.Join(dir, "bad"), "pw=hunter2\nx=\\u12\n")
	big := write(t, filepath.Join(dir, "big"), strings.Repeat("#", maxFile+1))
	p := three(t)
	for ref, says := range map[string]string{
		"${file:" + props + ":user}":       "no key user",
		"${file:/no/such:pw}":              "/no/such",
		"${file:" + dir + ":pw}":           "not a regular file",
		"${file:" + bad + ":pw}":           "line 2",
		"${file:" + big + ":pw}":           "the most that is read",
		"${file:pw}":                       "names no path",
		"${dir:" + dir + ":none}":          "none",
		"${dir:" + dir + ":../p}":          "folder and a file in it",
		"${dir:p}":                         "folder and a file in it",
		"${env:PROVIDERS_TEST_NONE}":       "PROVIDERS_TEST_NONE",
		"${env:/some/path:PROVIDERS_TEST}": "no path",
	} {
		res, err := p.Resolve(cfg{"the.key": ref, "pw": "${env:PROVIDERS_TEST}"})
		var problem *Problem
		if !errors.As(err, &problem) || problem.Key != "the.key" || problem.Reference != ref || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q in it", ref, err, says)
			continue
		}
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("a value is in %v", err)
		}
		if res.Values["the.key"] != ref || res.Values["pw"] != "hunter2" {
			t.Errorf("%s: %v", ref, res.Values)
		}
	}
}

func TestOnlyWhatIsAllowedIsRead(t *testing.T) {
	t.Setenv("PROVIDERS_TEST", "x")
	in, out := t.TempDir(), t.TempDir()
	write(t, filepath.Join(in, "real"), "k=v\n")
	write(t, filepath.Join(out, "secret"), "k=v\n")
	write(t, in+"-beside", "k=v\n")
	t.Cleanup(func() { _ = os.Remove(in + "-beside") })
	for name, to := range map[string]string{"inside": filepath.Join(in, "real"), "outside": filepath.Join(out, "secret")} {
		if err := os.Symlink(to, filepath.Join(in, name)); err != nil {
			t.Fatal(err)
		}
	}
	p := providers(t, cfg{
		"config.providers": "f,d,e", "config.providers.f.class": "FileConfigProvider", "config.providers.f.param.allowed.paths": "/proc/self, " + in,
		"config.providers.d.class": "DirectoryConfigProvider", "config.providers.d.param.allowed.paths": in,
		"config.providers.e.class": "EnvVarConfigProvider", "config.providers.e.param.allowlist.pattern": "PROV.*",
	})
	for ref, ok := range map[string]bool{
		"${f:" + in + "/real:k}": true, "${f:" + in + "/inside:k}": true, "${f:" + in + "/outside:k}": false, "${f:" + in + "/../" + filepath.Base(out) + "/secret:k}": false,
		"${f:" + in + "-beside:k}": false, "${f:" + out + "/secret:k}": false,
		"${d:" + in + ":real}": true, "${d:" + in + ":outside}": false, "${d:" + out + ":secret}": false,
		"${e:PROVIDERS_TEST}": true, "${e:PATH}": false,
	} {
		if _, err := p.Resolve(cfg{"k": ref}); (err == nil) != ok {
			t.Errorf("%s: %v", ref, err)
		}
	}
}

func TestWrongProvidersAreRefused(t *testing.T) {
	for says, props := range map[string]cfg{
		"config.providers.x.class is \"\"":           {"config.providers": "x"},
		"DirectoryConfigProvider, EnvVarConfig":      {"config.providers": "x", "config.providers.x.class": "com.example.Vault"},
		"config.providers.x.param.allowed.paths":     {"config.providers": "x", "config.providers.x.class": "FileConfigProvider", "config.providers.x.param.allowed.paths": "relative"},
		"/no/such":                                   {"config.providers": "x", "config.providers.x.class": "FileConfigProvider", "config.providers.x.param.allowed.paths": "/no/such"},
		"config.providers.x.param.allowlist.pattern": {"config.providers": "x", "config.providers.x.class": "EnvVarConfigProvider", "config.providers.x.param.allowlist.pattern": "("},
		"no such parameter":                          {"config.providers": "x", "config.providers.x.class": "EnvVarConfigProvider", "config.providers.x.param.allowed.paths": "/"},
	} {
		if _, err := New(props); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: %v, want %q in it", props, err, says)
		}
	}
}

// TestValuesStayInside: neither a text for people nor a derived configuration holds what a reference stands for, and what was
// restored is resolved to the same again.
func TestValuesStayInside(t *testing.T) {
	t.Setenv("PW", "correct horse\n")
	t.Setenv("PORT", "33")
	t.Setenv("TABLES", "a,b,c,d")
	p := three(t)
	raw := cfg{"password": "${env:PW}", "port": "${env:PORT}", "tables": "${env:TABLES}", "plain": "33"}
	res, err := p.Resolve(raw)
	if err != nil {
		t.Fatal(err)
	}
	cause := errors.New("cause")
	got := res.Error(fmt.Errorf("access with %q, that is correct horse, at port 33: %w", "correct horse\n", cause))
	if got.Error() != `access with "${env:PW}", that is ${env:PW}, at port 33: cause` || !errors.Is(got, cause) {
		t.Error(got)
	}
	derived := []map[string]string{{"password": "correct horse\n", "url": "x://u:correct horse\n@h:33", "port": "33", "tables": "a,b"}, {"tables": "a,b,c,d", "plain": "33"}}
	kept := res.Restore(derived)
	want := []map[string]string{{"password": "${env:PW}", "url": "x://u:${env:PW}@h:33", "port": "${env:PORT}", "tables": "a,b"}, {"tables": "${env:TABLES}", "plain": "33"}}
	if d := cmp.Diff(want, kept); d != "" {
		t.Error(d)
	}
	for i := range kept {
		again, err := p.Resolve(kept[i])
		if d := cmp.Diff(derived[i], again.Values); err != nil || d != "" {
			t.Error(err, d)
		}
	}
}

func TestProperties(t *testing.T) {
	got, err := Properties("\ufeff" + "x=1")
	if err != nil || got["\ufeffx"] != "1" { // as Java: a mark of the byte order is part of the key
		t.Error(got, err)
	}
	text := "# comment\\\n! other\n\n a = 1 \nb:2\r\nc 3\rd\t=\t4\n e\nf==5\ng\\=h\\ i = \\ x\\ty\\u00e4\\uD83D\\uDE00\\q\\\\\n" +
		"long = one,\\\n   two\\\\\\\n three\na.b=x\na.b=y\nend=z\\"
	want := map[string]string{
		"a": "1 ", "b": "2", "c": "3", "d": "4", "e": "", "f": "=5", "g=h i": " x\tyä😀q\\", "long": "one,two\\three", "a.b": "y", "end": "z",
	}
	got, err = Properties(text)
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Error(err, d)
	}
	for _, bad := range []string{"a=1\nb=\\u12", "a=1\n\\uzzzz=1"} {
		if _, err := Properties(bad); err == nil || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// FuzzProperties: what was read, written again with all escapes, reads the same.
func FuzzProperties(f *testing.F) {
	for _, s := range []string{"a=1\nb : 2\nc", "k\\\n  ey=v\\\\\\\nx", "\\u00e4=\\uD83D\\uDE00", "=\n:\n \\", "#\n!\r\n\r"} {
		f.Add(s)
	}
	escape := func(s string) string {
		var b strings.Builder
		for i := range len(s) {
			switch c := s[i]; c {
			case '\n':
				b.WriteString(`\n`)
			case '\r':
				b.WriteString(`\r`)
			case ' ', '\t', '\f', '=', ':', '#', '!', '\\':
				b.WriteString(`\`)
				if c == '\t' {
					c = 't'
				} else if c == '\f' {
					c = 'f'
				}
				b.WriteByte(c)
			default:
				b.WriteByte(c)
			}
		}
		return b.String()
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Properties(text)
		if err != nil {
			return
		}
		var b strings.Builder
		for k, v := range got {
			b.WriteString(escape(k) + "=" + escape(v) + "\n")
		}
		again, err := Properties(b.String())
		delete(got, "") // "=" alone on a line
		delete(again, "")
		if d := cmp.Diff(got, again); err != nil || d != "" {
			t.Errorf("%v %s", err, d)
		}
	})
}
