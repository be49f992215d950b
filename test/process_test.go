package test

import (
	"os"
	"os/exec"
	"testing"

	"stockrewards/test/world"
)

// process is a running command of the binary that listens.
type process struct{ *world.Process }

// launch starts a command that logs under a name, and waits until it listens.
func launch(t *testing.T, name string, env []string, args ...string) *process {
	t.Helper()
	return &process{world.Launch(t, name, program(env, args...))}
}

// program returns a command of the binary with more environment variables than the test's.
func program(env []string, args ...string) *exec.Cmd {
	cmd := exec.Command(binary, args...)
	cmd.Env = append(os.Environ(), env...)
	return cmd
}

// credentials are the environment variables of a broker's API key.
func credentials() []string { return []string{"APCA_API_KEY_ID=key", "APCA_API_SECRET_KEY=secret"} }
