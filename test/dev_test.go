package test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// startDev starts `stockrewards dev` in a folder, on a free port unless an address is given,
// and returns its output. stop sends SIGINT, or another signal.
func startDev(t *testing.T, folder string, address ...string) (greeting string, stop func(...os.Signal)) {
	t.Helper()
	listen := append(address, "127.0.0.1:0")[0]
	cmd := exec.CommandContext(t.Context(), binary, "dev", "--listen", listen, "--admin-listen", "127.0.0.1:0")
	cmd.Dir, cmd.Stderr = folder, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	noError(t, err)
	noError(t, cmd.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		greeting += lines.Text() + "\n"
		if strings.Contains(lines.Text(), "openapi.json") {
			break
		}
	}
	return greeting, func(signals ...os.Signal) {
		signal := append(signals, os.Interrupt)[0]
		if err := cmd.Process.Signal(signal); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil && signal == os.Interrupt {
			t.Errorf("dev ended with %v", err)
		}
	}
}

// The printed commands work: start, give a reward, see the shares. A second start finds its
// data and prints the same key.
func TestDevIsReadyToTry(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	greeting, stop := startDev(t, folder)
	commands := regexp.MustCompile(`(?m)^ {2}(curl (?:.*\\\n)*.*)$`).FindAllStringSubmatch(greeting, -1)
	if len(commands) != 2 {
		t.Fatalf("%d commands in\n%s", len(commands), greeting)
	}
	shell := func(command string) string {
		out, err := exec.CommandContext(t.Context(), "sh", "-c", command).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", command, err, out)
		}
		return string(out)
	}
	if out := shell(commands[0][1]); !strings.Contains(out, `"status":"recorded"`) || !strings.Contains(out, `"amountUsd":5.25`) {
		t.Errorf("the first request was answered %s", out)
	}
	want := `"costBasis":5.25`
	eventually(t, want, 10*time.Second, func() bool { return strings.Contains(shell(commands[1][1]), want) })
	url := regexp.MustCompile(`is running at (\S+)`).FindStringSubmatch(greeting)[1]
	announce(t, url, `{"type":"forward_split","symbol":"AAPL","old_rate":1,"new_rate":4,"ex_date":"2100-12-01"}`)
	stop()
	path := filepath.Join(folder, "stockrewards-data", "dev.key")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("dev.key: %v, %v", info, err)
	}
	key, err := os.ReadFile(path)
	if err != nil || !strings.Contains(greeting, strings.TrimSpace(string(key))) {
		t.Errorf("the kept key is not the printed one: %v", err)
	}
	again, stop := startDev(t, folder)
	defer stop()
	if !strings.Contains(again, strings.TrimSpace(string(key))) {
		t.Errorf("the second start printed\n%s", again)
	}
}

// A revoked key, or one whose file is missing, is replaced: the printed key works.
func TestDevPrintsAKeyThatWorks(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	data := filepath.Join(folder, "stockrewards-data")
	database := "--database=sqlite:" + filepath.Join(data, "stockrewards.db")
	printed := regexp.MustCompile(`(?m)^ {2}(sr_test_\w+)$`)
	address := regexp.MustCompile(`running at (\S+)`)
	seen := map[string]bool{}
	for _, spoil := range []func(){
		func() {},
		func() { revokeAll(t, database) },
		func() {
			if err := os.Remove(filepath.Join(data, "dev.key")); err != nil {
				t.Error(err)
			}
		},
		func() { revokeAll(t, database) },
	} {
		spoil()
		greeting, stop := startDev(t, folder)
		key := printed.FindStringSubmatch(greeting)
		if len(key) != 2 || seen[key[1]] {
			t.Fatalf("no new key in\n%s", greeting)
		}
		seen[key[1]] = true
		s := &service{t: t, url: address.FindStringSubmatch(greeting)[1], key: key[1]}
		s.must(200, "GET", "/v1/users", "")
		stop()
	}
}

// revokeAll revokes every key of the app dev.
func revokeAll(t *testing.T, database string) {
	t.Helper()
	list, err := runProgram(t, "key", "list", "dev", database)
	if err != nil {
		t.Fatal(list)
	}
	for _, line := range strings.Split(strings.TrimSpace(list), "\n")[1:] {
		if out, err := runProgram(t, "key", "revoke", strings.Fields(line)[0], database); err != nil {
			t.Fatal(out)
		}
	}
}

// dev suggests no flag that it lacks.
func TestDevListensOnThisMachineOnly(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"--listen", "--admin-listen"} {
		status, out := exitOf(t, "dev", "--data", t.TempDir(), flag, "0.0.0.0:0")
		if status != 2 || !strings.Contains(out, flag+" 0.0.0.0:0: dev shows its key") || strings.Contains(out, "--behind-proxy") ||
			strings.Contains(out, "--admin-public") {
			t.Errorf("dev %s 0.0.0.0:0: %d %s", flag, status, out)
		}
	}
}
