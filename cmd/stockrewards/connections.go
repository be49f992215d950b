package main

import (
	"log/slog"
	"net"

	"stockrewards/internal/guard"
)

// connectionFlags bound the connections of clients.
type connectionFlags struct {
	MaxConnections           int `default:"4096" placeholder:"N" help:"Limit the clients' concurrent connections; further ones are closed (default: 4096)."`
	MaxConnectionsPerAddress int `placeholder:"N" help:"Limit the concurrent connections from one address beyond this machine (default: half of --max-connections, or as many with --behind-proxy)."`
}

// The limits where there are no flags.
const (
	usualConnections = 4096
	adminConnections = 256
)

func (f connectionFlags) checkConnections() error {
	if f.MaxConnections < 0 || f.MaxConnectionsPerAddress < 0 {
		return usageErrorf("--max-connections and --max-connections-per-address must not be negative")
	}
	return nil
}

// limit bounds what a listener of clients accepts.
func (f connectionFlags) limit(l net.Listener, behindProxy bool, log *slog.Logger) net.Listener {
	limits := guard.Limits{Connections: f.MaxConnections, PerAddress: f.MaxConnectionsPerAddress}
	if limits.Connections == 0 {
		limits.Connections = usualConnections
	}
	if limits.PerAddress == 0 && !behindProxy {
		limits.PerAddress = (limits.Connections + 1) / 2
	}
	return guard.Limit(l, limits, log)
}
