package test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
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

// ask sends a request that must get the status, and decodes the JSON of the answer, if any.
func ask(t *testing.T, status int, method, url, body string, into any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	noError(t, err)
	response, err := client.Do(r)
	noError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != status {
		t.Fatalf("%s %s %s: %d %s %v, want %d", method, url, body, response.StatusCode, text, err, status)
	}
	if into != nil {
		noError(t, json.Unmarshal(text, into))
	}
}
