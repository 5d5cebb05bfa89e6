package broker

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/penstockio/penstock/broker/kafka"
)

// Listener is a named address. The name ties an advertised address to the one that is listened on.
type Listener struct {
	Name string
	Host string
	Port int // 0: any free port
}

// Address is host:port.
func (l Listener) Address() string { return net.JoinHostPort(l.Host, strconv.Itoa(l.Port)) }

// defaultListener is the name of a listener written as host:port alone.
const defaultListener = "PLAINTEXT"

// ParseListeners reads Kafka's form: a comma-separated list of NAME://host:port, where NAME:// may be left out once.
func ParseListeners(s string) ([]Listener, error) {
	var out []Listener
	seen := map[string]bool{}
	for _, item := range strings.Split(s, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		name, address, named := strings.Cut(item, "://")
		if !named {
			name, address = defaultListener, item
		}
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, fmt.Errorf("reading listener %q: want host:port or NAME://host:port: %w", item, err)
		}
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("reading listener %q: port %q is not a number up to 65535", item, port)
		}
		if name = strings.ToUpper(name); seen[name] {
			return nil, fmt.Errorf("reading listener %q: there are two listeners named %s", item, name)
		}
		seen[name] = true
		out = append(out, Listener{Name: name, Host: host, Port: int(n)})
	}
	return out, nil
}

// bound is a listener with its socket.
type bound struct {
	Listener
	ln net.Listener
}

// listen binds all listeners or none.
func listen(ls []Listener) ([]bound, error) {
	var out []bound
	for _, l := range ls {
		ln, err := net.Listen("tcp", l.Address())
		if err == nil {
			out = append(out, bound{l, ln})
			continue
		}
		for _, b := range out {
			b.ln.Close()
		}
		if errors.Is(err, syscall.EADDRINUSE) {
			return nil, fmt.Errorf("listening on %s (broker listener %s): another process uses this address; stop it or choose another port in broker.listeners: %w", l.Address(), l.Name, err)
		}
		return nil, fmt.Errorf("listening on %s (broker listener %s): %w", l.Address(), l.Name, err)
	}
	return out, nil
}

// memoryEndpoint is what a broker without listeners advertises; only the connection inside the process reaches it.
var memoryEndpoint = kafka.Endpoint{Host: "penstock.internal", Port: 9092}

// advertise works out where clients of each listener find this broker.
func advertise(ls []bound, advertised []Listener) (map[string]kafka.Endpoint, error) {
	out := map[string]kafka.Endpoint{}
	for _, b := range ls {
		at := kafka.Endpoint{Host: b.Host, Port: int32(b.ln.Addr().(*net.TCPAddr).Port)}
		if ip := net.ParseIP(b.Host); b.Host == "" || ip != nil && ip.IsUnspecified() {
			name, err := os.Hostname()
			if err != nil {
				return nil, fmt.Errorf("listener %s listens on every address and the host has no name: set broker.advertised.listeners: %w", b.Name, err)
			}
			at.Host = name
		}
		out[b.Name] = at
	}
	for _, a := range advertised {
		at, ok := out[a.Name]
		if !ok {
			return nil, fmt.Errorf("broker.advertised.listeners names %s, which broker.listeners does not have", a.Name)
		}
		at.Host = a.Host
		if a.Port != 0 {
			at.Port = int32(a.Port)
		}
		out[a.Name] = at
	}
	return out, nil
}
