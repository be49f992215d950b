package main

import "stockrewards/internal/guard"

// connectionFlags limit the clients' connections.
type connectionFlags struct {
	MaxConnections           int `default:"4096" placeholder:"N" help:"Limit the clients' concurrent connections; further ones are closed (default: 4096)."`
	MaxConnectionsPerAddress int `placeholder:"N" help:"Limit the concurrent connections from one remote address (default: half of --max-connections; with --behind-proxy no separate limit)."`
}

// limits reads the flags; zero values mean the defaults.
func (f connectionFlags) limits(behindProxy bool) (guard.Limits, error) {
	const usual = 4096
	l := guard.Limits{Connections: f.MaxConnections, PerAddress: f.MaxConnectionsPerAddress}
	if l.Connections < 0 || l.PerAddress < 0 {
		return l, usageErrorf("--max-connections and --max-connections-per-address must not be negative")
	}
	if l.Connections == 0 {
		l.Connections = usual
	}
	if l.PerAddress == 0 && !behindProxy {
		l.PerAddress = (l.Connections + 1) / 2
	}
	return l, nil
}
