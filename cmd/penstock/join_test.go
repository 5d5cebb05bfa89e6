package main

import (
	"strings"
	"testing"
)

func TestJoin(t *testing.T) {
	for _, c := range []struct {
		values map[string]string
		at     string // of bootstrap.servers; empty: refused
		says   string
	}{
		{map[string]string{"join": "10.0.0.1:9092"}, "10.0.0.1:9092", ""},
		{map[string]string{"join": "broker.local"}, "broker.local:9092", ""},
		{map[string]string{"join": "::1"}, "[::1]:9092", ""},
		{map[string]string{"join": "[::1]"}, "[::1]:9092", ""},
		{map[string]string{"join": "a:1,b:2"}, "", "one broker"},
		{map[string]string{"join": "http://a:8083"}, "", "one broker"},
		{map[string]string{"join": "a:1", "data-dir": "d"}, "", "data-dir is set"},
		{map[string]string{"join": "a:1", "broker.listeners": "d"}, "", "broker.listeners is set"},
		{map[string]string{"join": "a:1", "bootstrap.servers": "b:1"}, "", "two clusters"},
	} {
		s := &settings{values: c.values, origin: map[string]string{}}
		err := s.join(c.values["join"])
		if got := s.values["bootstrap.servers"]; c.at != "" && (err != nil || got != c.at) {
			t.Errorf("%v: %q, %v", c.values, got, err)
		}
		if c.at == "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%v: %v", c.values, err)
		}
	}
}
