package mysql

import "testing"

func TestReaches(t *testing.T) {
	for _, c := range []struct {
		position, other string
		want            bool
	}{
		{"0-1-5", "0-1-5", true},
		{"0-1-6", "0-1-5", true},
		{"0-1-4", "0-1-5", false},
		{"0-1-6", "0-2-5", true}, // another server's, in the same domain
		{"0-1-6", "0-1-5,1-1-1", false},
		{"0-1-6,1-1-1", "0-1-5,1-1-1", true},
		{"0-1-6", "", true}, // the log begins with the server
	} {
		got, err := reaches(c.position, c.other)
		if err != nil || got != c.want {
			t.Errorf("reaches(%q, %q) = %v, %v", c.position, c.other, got, err)
		}
	}
	if _, err := reaches("x", "0-1-1"); err == nil {
		t.Error("a broken set was taken")
	}
}
