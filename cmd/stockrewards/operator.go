package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strings"
	"unicode"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// reasonFlag is of every command that changes the books and needs no reason.
type reasonFlag struct {
	Reason string `env:"-" placeholder:"TEXT" help:"State why; stored in the operator log."`
}

// operator is who runs a command, as the operator log keeps it.
func (r reasonFlag) operator(command string) (rewards.Operator, error) {
	if err := rewards.CheckText(r.Reason); err != nil {
		return rewards.Operator{}, usageErrorf("--reason: %w", err)
	}
	return rewards.Operator{Actor: actor(), Command: command, Reason: strings.TrimSpace(r.Reason)}, nil
}

// operate opens existing books for a command that changes them. What it changes is
// logged under the command's name.
func (d databaseFlag) operate(
	ctx context.Context, command string, why reasonFlag, f func(*store.Operator) error,
) error {
	by, err := why.operator(command)
	if err != nil {
		return err
	}
	s, err := d.open(ctx, false)
	if err != nil {
		return err
	}
	return errors.Join(f(s.As(by)), s.Close())
}

// actor is the user and the host that the operating system names: "ann@db1", and
// "root@db1 (sudo ann)" when ann has become root by sudo.
func actor() string {
	name := fmt.Sprint("uid ", os.Getuid())
	if u, err := user.Current(); err == nil && u.Username != "" {
		name = u.Username
	}
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "unknown host"
	}
	name += "@" + host
	if by := os.Getenv("SUDO_USER"); by != "" {
		name += " (sudo " + by + ")"
	}
	const most = 200
	runes := []rune(strings.Map(plain, strings.ToValidUTF8(name, "?")))
	return string(runes[:min(most, len(runes))])
}

// plain replaces what can't be kept in the operator log.
func plain(r rune) rune {
	if unicode.IsGraphic(r) {
		return r
	}
	return '?'
}
