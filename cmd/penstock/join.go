package main

import (
	"fmt"
	"net"
	"sort"
	"strings"
)

// join makes a server a worker of the group whose broker is at an address.
func (s *settings) join(at string) error {
	if _, _, err := net.SplitHostPort(at); err != nil {
		at = net.JoinHostPort(strings.Trim(at, "[]"), "9092")
	}
	if host, port, err := net.SplitHostPort(at); err != nil || host == "" || port == "" || strings.ContainsAny(at, "/, ") {
		return fmt.Errorf("join=%s (from %s): name one broker of the group as host:port", s.values["join"], s.origin["join"])
	}
	var own []string
	for k := range s.values {
		if k == "data-dir" || strings.HasPrefix(k, "broker.") {
			own = append(own, k)
		}
	}
	if len(own) > 0 {
		sort.Strings(own)
		return fmt.Errorf("join=%s (from %s) starts a worker beside no broker of its own, but %s is set (from %s): leave one of them out",
			s.values["join"], s.origin["join"], own[0], s.origin[own[0]])
	}
	if b := s.or("bootstrap.servers", ""); b != "" && b != at {
		return fmt.Errorf("join=%s (from %s) and bootstrap.servers=%s (from %s) name two clusters: leave one of them out",
			s.values["join"], s.origin["join"], b, s.origin["bootstrap.servers"])
	}
	s.values["bootstrap.servers"], s.origin["bootstrap.servers"] = at, s.origin["join"]
	return nil
}
