package mysql

import "testing"

func TestJSONHasTheServersSpaces(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":[1,2],"b":1.0}`:         `{"a": [1, 2], "b": 1.0}`,
		`{"a": [1, 2], "b": 1.0}`:     `{"a": [1, 2], "b": 1.0}`,
		`{"k:,":"v,:\"x:y\\","n":{}}`: `{"k:,": "v,:\"x:y\\", "n": {}}`,
		`null`:                        `null`,
		``:                            ``,
	} {
		if got := string(appendServerJSON(nil, []byte(in))); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
