package postgres

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// giveUpOnSilence makes a connection fail when its peer stops acknowledging data.
func giveUpOnSilence(network, _ string, c syscall.RawConn) (err error) {
	if network == "unix" {
		return nil
	}
	controlErr := c.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(silentFor.Milliseconds()))
	})
	if controlErr != nil {
		return controlErr
	}
	return err
}
