package main

import "stockrewards/internal/guard"

type connectionFlags struct {
	MaxConnections           int `default:"4096" placeholder:"N" help:"Limit the clients' concurrent connections; further ones are closed (default: 4096)."`
	MaxConnectionsPerAddress int `placeholder:"N" help:"Limit the concurrent connections from one remote address (default: half of --max-connections; with --behind-proxy no separate limit)."`
}

func (f connectionFlags) checkConnections() error {
	if f.MaxConnections < 0 || f.MaxConnectionsPerAddress < 0 {
		return usageErrorf("--max-connections and --max-connections-per-address must not be negative")
	}
	return nil
}

// limits are those of the flags; zero values mean the defaults.
func (f connectionFlags) limits(behindProxy bool) guard.Limits {
	const usual = 4096
	l := guard.Limits{Connections: f.MaxConnections, PerAddress: f.MaxConnectionsPerAddress}
	if l.Connections == 0 {
		l.Connections = usual
	}
	if l.PerAddress == 0 && !behindProxy {
		l.PerAddress = (l.Connections + 1) / 2
	}
	return l
}
