// Package test drives the built binary from outside: as a client, as an operator and by
// power failures.
package test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "stockrewards/client"
	"stockrewards/test/world"
)

// binary is the built program.
var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if len(os.Args) > 2 && os.Args[1] == underFilter { // see injector
		err := runUnderFilter(os.Args[2], os.Args[3:])
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	parallel()
	return world.Run(m, &binary)
}

// parallel runs four tests at a time, unless -parallel says otherwise: they mostly wait for
// processes.
func parallel() {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", "4") // the flag exists, and 4 is valid
	}
}

// service is a running `serve`.
type service struct {
	t        *testing.T
	name     string // of its log; "": serve
	folder   string
	storeURL string // the URL of its database; "": a file in the folder
	url      string
	key      string
	env      []string // in addition to the test's
	cmd      *exec.Cmd
	exited   chan error
}

// database is the service's --database.
func (s *service) database() string {
	if s.storeURL != "" {
		return s.storeURL
	}
	return "sqlite:" + filepath.Join(s.folder, "rewards.db")
}

// newService creates a database with an app, in a new folder.
func newService(t *testing.T, folder string) *service {
	t.Helper()
	s := &service{t: t, folder: folder}
	s.key = strings.TrimSpace(s.command("app", "create", "tester"))
	t.Cleanup(func() {
		if s.cmd != nil {
			s.kill()
		}
	})
	return s
}

// command runs an operator's command that must succeed, and returns its output.
func (s *service) command(args ...string) string {
	s.t.Helper()
	out, err := s.try(args...)
	if err != nil {
		s.t.Fatalf("stockrewards %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// try runs an operator's command on the service's database. One that does not end, such as
// serve, is killed after a while.
func (s *service) try(args ...string) (string, error) {
	s.t.Helper()
	const patience = 30 * time.Second
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, append(args, "--database", s.database())...)
	cmd.Env = append(os.Environ(), s.env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("%w: %s", err, stderr.String())
	}
	return stdout.String(), nil
}

// wantOutput runs a command that must succeed and print the string.
func (s *service) wantOutput(want string, args ...string) {
	s.t.Helper()
	succeeds(s.t, want)(s.try(args...))
}

// wantError runs a command that must fail with the message.
func (s *service) wantError(want string, args ...string) {
	s.t.Helper()
	fails(s.t, want)(s.try(args...))
}

// firstID is the first word of the first row of a list.
func (s *service) firstID(command ...string) string {
	s.t.Helper()
	return strings.Fields(strings.Split(s.command(command...), "\n")[1])[0]
}

// start starts serve on a free port and waits until it listens.
func (s *service) start(args ...string) {
	s.t.Helper()
	p := launch(s.t, s.logName(), s.env, append([]string{
		"serve", "--listen", "127.0.0.1:0", "--database", s.database(),
	}, args...)...)
	s.cmd, s.exited, s.url = p.Cmd, p.Exited, p.URL
}

// logs is serve's log.
func (s *service) logs() string {
	s.t.Helper()
	return world.ReadLog(s.t, s.logName())
}

func (s *service) logName() string { return cmp.Or(s.name, "serve") }

// kill ends the process by SIGKILL.
func (s *service) kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill()
	<-s.exited
	s.cmd = nil
}

// stop ends the process by SIGTERM and returns its exit error.
func (s *service) stop() error {
	s.t.Helper()
	noError(s.t, s.cmd.Process.Signal(syscall.SIGTERM))
	err := <-s.exited
	s.cmd = nil
	return err
}

// answer is the answer to a request.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// decode reads the answer's body.
func (a answer) decode(t *testing.T, into any) {
	t.Helper()
	if err := json.Unmarshal(a.body, into); err != nil {
		t.Fatalf("%s: %v", a.body, err)
	}
}

// client keeps connections and does not retry.
var client = &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 100}}

// request sends a request with the app's key.
func (s *service) request(ctx context.Context, method, path, body string) (answer, error) {
	response, content, err := world.Request(ctx, client, s.key, method, s.url+path, body)
	if err != nil {
		return answer{}, err
	}
	return answer{response.StatusCode, response.Header, content}, nil
}

// must sends a request that must get the status.
func (s *service) must(status int, method, path, body string) answer {
	s.t.Helper()
	a, err := s.request(s.t.Context(), method, path, body)
	noError(s.t, err)
	if a.status != status {
		s.t.Fatalf("%s %s: %d %s, want %d", method, path, a.status, a.body, status)
	}
	return a
}

// sdk is the project's Go client for the service. It sends each request once.
func (s *service) sdk() *sdk.Client {
	c := sdk.New(s.url, s.key)
	c.HTTP.Transport, c.Attempts = client.Transport, 1
	return c
}

// newUser creates a user and returns its id.
func (s *service) newUser(externalID string) string {
	s.t.Helper()
	u, err := s.sdk().CreateUser(s.t.Context(), sdk.NewUser{ExternalID: externalID})
	noError(s.t, err)
	return u.ID
}

// award is a reward in the API's answers.
type award struct {
	ID, UserID, IdempotencyKey, AssetSymbol, Status string
	AmountUSD                                       json.Number `json:"amountUsd"`
	FailureReason                                   *string
}

// giving is the body of a request for a reward.
func giving(user, key, amount, symbol string) string {
	return fmt.Sprintf(`{"userId":%q,"idempotencyKey":%q,"amountUsd":%s,"assetSymbol":%q}`, user, key, amount, symbol)
}

// give records a reward.
func (s *service) give(user, key, amount, symbol string) award {
	s.t.Helper()
	var got struct{ Reward award }
	s.must(201, "POST", "/v1/rewards", giving(user, key, amount, symbol)).decode(s.t, &got)
	return got.Reward
}

// await waits until a reward is in the status.
func (s *service) await(id, status string, most time.Duration) award {
	s.t.Helper()
	var got struct{ Reward award }
	for deadline := time.Now().Add(most); ; time.Sleep(10 * time.Millisecond) {
		late := time.Now().After(deadline)
		s.must(200, "GET", "/v1/rewards/"+id, "").decode(s.t, &got)
		if got.Reward.Status == status {
			return got.Reward
		}
		if late {
			s.t.Fatalf("after %s the reward is %+v, want it %s", most, got.Reward, status)
		}
	}
}
