package test

import (
	"bufio"
	"context"
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	sdk "stockrewards/client"
	"stockrewards/internal/rewards"
	"stockrewards/test/world"
)

// listener is a running `listen`.
type listener struct {
	*world.Process

	out   *os.File
	lines *bufio.Scanner
}

// listen starts `listen` in the folder of dev, and waits until it forwards.
func listen(t *testing.T, s *service, args ...string) *listener {
	t.Helper()
	cmd := program(nil, append([]string{"listen", "--url", s.url}, args...)...)
	cmd.Dir = s.folder
	out, in, err := os.Pipe()
	noError(t, err)
	cmd.Stdout = in
	p, _ := world.Begin(t, "listen", cmd)
	noError(t, in.Close())
	t.Cleanup(func() { _ = out.Close() })
	l := &listener{p, out, bufio.NewScanner(out)}
	l.await(t, "Forwarding the events after ")
	return l
}

// await reads lines for at most two minutes until one has the text, and returns that one.
func (l *listener) await(t *testing.T, text string) string {
	t.Helper()
	noError(t, l.out.SetReadDeadline(time.Now().Add(2*time.Minute)))
	for l.lines.Scan() {
		if strings.Contains(l.lines.Text(), text) {
			return l.lines.Text()
		}
	}
	t.Fatalf("listen printed no %q", text)
	return ""
}

// end interrupts it as Ctrl-C does, and returns the sequence with which the next run continues.
func (l *listener) end(t *testing.T) (after string) {
	t.Helper()
	noError(t, l.Cmd.Process.Signal(os.Interrupt))
	line := l.await(t, "To continue")
	noError(t, <-l.Exited)
	return regexp.MustCompile(`--after (\d+)`).FindStringSubmatch(line)[1]
}

// A developer's receiver gets each event once it accepts it, just as an endpoint gets it, although the
// receiver fails at times and the service is killed. The next run continues where this one ended.
func TestListen(t *testing.T) {
	t.Parallel()
	s, stop := newDev(t)
	user := s.newUser("listener")
	theirs, mine := newHook(t, accept), newHook(t, func(n int) int { return map[int]int{1: 500, 4: 429}[n] })
	_, _, err := s.sdk().CreateWebhookEndpoint(t.Context(), sdk.NewWebhookEndpoint{URL: theirs.url})
	noError(t, err)
	s.await(s.give(user, "old-award-0", "1", "KO").ID, "executed", 10*time.Second)
	theirs.next(t)

	secretFile := filepath.Join(s.folder, "secret")
	args := []string{"--forward", mine.url, "--secret-file", secretFile, "--retries", "100ms"}
	l := listen(t, s, args...)
	for _, key := range []string{"new-award-1", "new-award-2"} {
		s.give(user, key, "1", "KO")
		forwarded, delivered := mine.next(t), theirs.next(t)
		if differ := sameRequest(delivered, forwarded); differ != nil {
			t.Errorf("an endpoint got %v, listen's receiver something else: %q", delivered, differ)
		}
		secret, err := os.ReadFile(secretFile)
		noError(t, err)
		forwarded.Secrets = map[string]bool{strings.TrimSpace(string(secret)): true}
		verifiedByGo(t, forwarded)
		if !strings.Contains(forwarded.Body, key) {
			t.Errorf("the receiver got %s, want %s", forwarded.Body, key)
		}
	}
	l.await(t, "500")

	stop(os.Kill)
	_, stop = startDev(t, s.folder, strings.TrimPrefix(s.url, "http://"))
	defer stop()
	s.give(user, "after-the-kill", "1", "KO")
	if d := mine.next(t); !strings.Contains(d.Body, "after-the-kill") {
		t.Errorf("after the kill the receiver got %s", d.Body)
	}
	l.await(t, "429")
	l.await(t, "204")
	after := l.end(t)

	s.await(s.give(user, "while-away", "1", "KO").ID, "executed", 10*time.Second)
	l = listen(t, s, append(args, "--after", after)...)
	if d := mine.next(t); !strings.Contains(d.Body, "while-away") {
		t.Errorf("the next run forwarded %s", d.Body)
	}
	l.end(t)
}

// unknownKey returns a well-formed key that no service knows.
func unknownKey(t *testing.T, prefix string) string {
	t.Helper()
	return call[string](t)(rewards.NewKeySecret(prefix, rand.Reader))
}

// inFolder runs a command in a folder for at most two minutes, and returns what it printed.
func inFolder(t *testing.T, folder string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir = folder
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// listen refuses what it cannot do, and shows no key.
func TestListenRefuses(t *testing.T) {
	t.Parallel()
	s, stop := newDev(t)
	defer stop()
	key := filepath.Join(s.folder, "stockrewards-data", "dev.key")
	wrong, live := filepath.Join(s.folder, "wrong"), filepath.Join(s.folder, "live")
	noError(t, os.WriteFile(wrong, []byte(unknownKey(t, rewards.TestKeyPrefix)), 0o600))
	noError(t, os.WriteFile(live, []byte(unknownKey(t, rewards.LiveKeyPrefix)), 0o600))
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no key file":        {[]string{"--key-file", "missing"}, "--key-file: open missing: no such file"},
		"not a key":          {[]string{"--key-file", os.DevNull}, "must have an API key"},
		"an unknown key":     {[]string{"--key-file", wrong}, "401 unauthorized"},
		"a live key":         {[]string{"--key-file", live, "--url", "http://rewards.example"}, "a live key is sent over https only"},
		"not a service":      {[]string{"--url", "nowhere"}, `--url "nowhere": must be a URL`},
		"not a receiver":     {[]string{"--forward", "nowhere"}, `--forward "nowhere": must be a URL`},
		"an unknown type":    {[]string{"--types", "reward.sold"}, `--types "reward.sold": must be of reward.executed,`},
		"a negative pause":   {[]string{"--retries", "-1s"}, "--retries"},
		"not a secret":       {[]string{"--secret-file", wrong}, "a webhook secret must be whsec_"},
		"no folder for that": {[]string{"--secret-file", "no/such/folder"}, "no such file"},
	} {
		args := []string{"listen", "--url", s.url, "--key-file", key, "--forward", "http://localhost:1/hook"}
		out, err := inFolder(t, s.folder, append(args, test.args...)...)
		if err == nil || !strings.Contains(out, test.want) || strings.Contains(out, s.key) {
			t.Errorf("%s: %v: %s; want %q", name, err, out, test.want)
		}
	}
}
