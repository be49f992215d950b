package main

import (
	"net"
	"strconv"
	"strings"

	"stockrewards/internal/guard"
)

type tlsFlags struct {
	TLSCert string `name:"tls-cert" placeholder:"FILE" help:"Serve TLS with this certificate (PEM, with its chain); a renewed file is reloaded."`
	TLSKey  string `name:"tls-key" placeholder:"FILE" help:"Use this private key of --tls-cert (PEM)."`
}

func (f tlsFlags) checkTLS() error {
	if (f.TLSCert == "") != (f.TLSKey == "") {
		return usageErrorf("--tls-cert and --tls-key belong together: give both or neither")
	}
	return nil
}

type connectionFlags struct {
	MaxConnections           *int `placeholder:"N" help:"Limit the clients' concurrent connections; further ones are closed (default: 4096)."`
	MaxConnectionsPerAddress int  `placeholder:"N" help:"Limit the concurrent connections from one remote address, not from this machine (default: half of --max-connections; with --behind-proxy no separate limit)."`
}

func (f connectionFlags) checkConnections() error {
	given := f.MaxConnections != nil
	switch {
	case given && *f.MaxConnections < 1 || f.MaxConnectionsPerAddress < 0:
		return usageErrorf(
			"--max-connections must be at least 1, and --max-connections-per-address must not be negative")
	case given && f.MaxConnectionsPerAddress > *f.MaxConnections:
		return usageErrorf("--max-connections-per-address %d: must not be more than --max-connections, which is %d",
			f.MaxConnectionsPerAddress, *f.MaxConnections)
	}
	return nil
}

// limits are those of the flags; zero values mean the defaults.
func (f connectionFlags) limits(behindProxy bool) guard.Limits {
	l := guard.Limits{Connections: 4096, PerAddress: f.MaxConnectionsPerAddress}
	if f.MaxConnections != nil {
		l.Connections = *f.MaxConnections
	}
	if l.PerAddress == 0 && !behindProxy {
		l.PerAddress = (l.Connections + 1) / 2
	}
	return l
}

type adminFlags struct {
	AdminListen string   `placeholder:"HOST:PORT" help:"Serve /livez, /readyz and /metrics at this address (default: nowhere)."`
	AdminPublic bool     `help:"Allow --admin-listen beyond this machine. It needs no key: anyone who reaches it can read it."`
	AdminHost   []string `placeholder:"NAME" help:"Accept this host name at --admin-listen, besides IP addresses and localhost; repeatable."`
}

// checkAdmin refuses to expose operational data beyond this machine by mistake.
func (f adminFlags) checkAdmin() error {
	for _, name := range f.AdminHost {
		if strings.ContainsAny(name, ":/ ") {
			return usageErrorf("--admin-host %q: must be a name without a port", name)
		}
	}
	if f.AdminListen == "" {
		return nil
	}
	local, err := loopback(f.AdminListen)
	if err != nil {
		return usageErrorf("--admin-listen %q: must be HOST:PORT", f.AdminListen)
	}
	if local || f.AdminPublic {
		return nil
	}
	return usageErrorf("--admin-listen %s: it has no keys and no TLS, and would be reachable beyond this machine; "+
		"in a network that only your own machines reach, use --admin-public", f.AdminListen)
}

// loopback reports whether only this machine reaches an address.
func loopback(address string) (bool, error) {
	host, port, err := net.SplitHostPort(address)
	const most = 65_535
	if n, notNumber := strconv.Atoi(port); notNumber == nil && (n < 0 || n > most) {
		err = strconv.ErrRange
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback(), err
}
