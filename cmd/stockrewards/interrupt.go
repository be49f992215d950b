package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// stopSignals are the signals that end a command in order. SIGHUP stays ignored if it was when the program started, as
// nohup wants.
func stopSignals() []os.Signal {
	list := []os.Signal{syscall.SIGTERM, os.Interrupt, syscall.SIGHUP}
	if signal.Ignored(syscall.SIGHUP) {
		list = list[:len(list)-1]
	}
	return list
}

var (
	errInterrupted = errors.New("interrupted")

	// errNotOpened is why a command that was interrupted has changed nothing.
	errNotOpened = errors.New("interrupted before it had opened the database; nothing was changed")
)

// stoppedEarly is the message of a service that a signal ended before it listened.
const stoppedEarly = "stopped by a signal before it served"

// interrupted reports whether a command failed because a signal ended ctx, the context of the whole command.
func interrupted(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, context.Canceled)
}

// inPlainWords replaces what failed because a signal ended ctx by errInterrupted. Other errors stay.
func inPlainWords(ctx context.Context, err error) error {
	if !interrupted(ctx, err) {
		return err
	}
	return errors.Join(append([]error{errInterrupted}, notInterrupted(err)...)...)
}

// notInterrupted returns the parts of an error that have another cause than the end of a context.
func notInterrupted(err error) (parts []error) {
	if !errors.Is(err, context.Canceled) {
		return []error{err}
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, part := range joined.Unwrap() {
			parts = append(parts, notInterrupted(part)...)
		}
	}
	return parts
}
