package guard

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// EndSilence returns the Control of a net.Dialer or a net.ListenConfig. Their connections end when the peer has
// acknowledged nothing of what was sent for that long, or had no room for more, also after they were closed here
// (tcp(7), TCP_USER_TIMEOUT).
func EndSilence(after time.Duration) func(network, address string, c syscall.RawConn) error {
	return func(network, _ string, c syscall.RawConn) (err error) {
		if network == "unix" {
			return nil
		}
		controlErr := c.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(after.Milliseconds()))
		})
		if controlErr != nil {
			return controlErr
		}
		return err
	}
}
