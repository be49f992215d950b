package main

import "net"

type adminFlags struct {
	AdminListen string   `placeholder:"HOST:PORT" help:"Serve /livez, /readyz and /metrics at this address (default: nowhere)."`
	AdminPublic bool     `help:"Allow --admin-listen beyond this machine. It needs no key: anyone who reaches it can read it."`
	AdminHost   []string `placeholder:"NAME" help:"Accept this host name at --admin-listen, besides IP addresses and localhost; repeatable."`
}

// checkAdmin refuses to expose operational data beyond this machine by mistake.
func (f adminFlags) checkAdmin() error {
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
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback(), err
}
