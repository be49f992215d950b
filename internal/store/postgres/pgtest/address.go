package pgtest

import (
	"errors"
	"net"
	"os"
	"strconv"
	"sync/atomic"
)

// taken counts the ports that this process tried.
var taken atomic.Uint32

// FreeAddress returns an address of this machine on which nobody listens. Its port is below those that
// Linux gives to outgoing connections: one of them could take it before the server listens. A process
// returns none twice, and two processes rarely begin at the same port.
func FreeAddress() (string, error) {
	const first, ports, apart = 12_000, 20_000, 97
	for range ports {
		n := uint32(os.Getpid())*apart + taken.Add(1)
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(first+int(n%ports)))
		if l, err := net.Listen("tcp", address); err == nil {
			return address, l.Close()
		}
	}
	return "", errors.New("no port is free")
}

func freePort() (int, error) {
	address, err := FreeAddress()
	if err != nil {
		return 0, err
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(port)
}
