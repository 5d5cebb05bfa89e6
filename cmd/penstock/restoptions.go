package main

import (
	"fmt"
	"net"
	"strings"

	"github.com/penstockio/penstock/rest"
	"github.com/penstockio/penstock/runtime/kafka"
)

// restOptions reads what the REST interface does beside answering, and opens listeners of its own for /admin.
func (s *settings) restOptions(withAdmin bool) (rest.Options, error) {
	o := rest.Options{
		Origins: kafka.SplitList(s.values["access.control.allow.origin"]),
		Methods: kafka.SplitList(strings.ToUpper(s.values["access.control.allow.methods"])),
	}
	var err error
	if o.Headers, err = rest.ParseHeaders(s.values["response.http.headers.config"]); err != nil {
		return o, err
	}
	at, given := s.values["admin.listeners"]
	switch {
	case !given || !withAdmin:
	case strings.TrimSpace(at) == "":
		o.Admin = []net.Listener{}
	default:
		if o.Admin, err = rest.Listen(at); err != nil {
			return o, fmt.Errorf("admin.listeners: %w", err)
		}
	}
	return o, nil
}
