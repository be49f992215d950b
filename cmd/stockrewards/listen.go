package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
)

// listen opens a listener at the address that a flag gives.
func listen(ctx context.Context, flag, address string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("cannot listen on %s: another program uses this address (%w); "+
			"choose another one with %s", address, syscall.EADDRINUSE, flag)
	case err != nil:
		return nil, fmt.Errorf("cannot listen on %s: %w; choose another address with %s", address, err, flag)
	}
	return l, nil
}
