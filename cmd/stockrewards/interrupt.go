package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// stopSignals are the signals that end a command in order. SIGHUP and SIGINT stay ignored if they were when the program
// started, as nohup and a script's background job expect.
func stopSignals() []os.Signal {
	list := []os.Signal{syscall.SIGTERM}
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			list = append(list, s)
		}
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
