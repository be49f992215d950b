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

// reasonFlag is the optional reason of a command that changes the database.
type reasonFlag struct {
	Reason   string `env:"-" placeholder:"TEXT" help:"Give a reason, which is stored in the operator log."`
	required bool
}

// required is the reason of a command that must have one.
func required(reason string) reasonFlag { return reasonFlag{Reason: reason, required: true} }

// operator identifies who runs a command, for the operator log.
func (r reasonFlag) operator(command string) (rewards.Operator, error) {
	if err := rewards.CheckText(r.Reason); err != nil {
		return rewards.Operator{}, usageErrorf("--reason: %w", err)
	}
	reason := strings.TrimSpace(r.Reason)
	if r.required && reason == "" {
		return rewards.Operator{}, usageErrorf("--reason must not be empty")
	}
	return rewards.Operator{Actor: actor(), Command: command, Reason: reason}, nil
}

// operate opens an existing store for a command that changes it. Changes are logged under
// the command's name.
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

// actor is the operating system's user and host: "ann@db1", or "root@db1 (sudo ann)" under
// sudo.
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

// plain replaces characters that the operator log cannot store.
func plain(r rune) rune {
	if unicode.IsGraphic(r) {
		return r
	}
	return '?'
}
