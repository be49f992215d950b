//go:build !linux

package postgres

import "syscall"

// giveUpOnSilence does nothing where the system lacks the setting. Keep-alive probes notice a lost
// peer later.
func giveUpOnSilence(string, string, syscall.RawConn) error { return nil }
