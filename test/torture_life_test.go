package test

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/test/world"
)

// seedStore is the database that each life starts with: an app, two users, and whatever the
// scene needs.
type seedStore struct {
	folder string
	key    string
	users  []string
	load   *load // nil: no rewards
}

// copyTo copies the database, without its locks.
func (b seedStore) copyTo(t *testing.T, folder string) {
	t.Helper()
	for _, name := range []string{"rewards.db", "rewards.db-wal", "paper.db", "paper.db-wal"} {
		content, err := os.ReadFile(filepath.Join(b.folder, name))
		if os.IsNotExist(err) {
			continue
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name), content, 0o600)
		}
		noError(t, err)
	}
}

// plantStore creates a database with users only.
func plantStore(t *testing.T) seedStore {
	t.Helper()
	s := newService(t, t.TempDir())
	s.start()
	b := seedStore{folder: s.folder, key: s.key, users: []string{s.newUser("anna"), s.newUser("bert")}}
	noError(t, s.stop())
	return b
}

// life is one life of a service under a fault. Its client retries until it is answered or
// the process ends, and remembers the acknowledgements.
type life struct {
	s        *service
	load     *load
	injector *injector
	next     int       // the first request not sent yet
	since    time.Time // when the fault was first noticed
	refused  int       // writes, with 503
	unread   string    // the answer to a read that was refused: then the process ends, and no read succeeds any more
	ended    bool      // before the client was finished
	exit     error
}

// settings shorten a life.
func settings() []string { return []string{"--pooling-window", "20ms"} }

var requestLine = regexp.MustCompile(`(?m)^.*"msg":"request",.*\n`)

// newLife copies a database for a life with a fault.
func newLife(t *testing.T, b seedStore, folder string, chosen func(place) bool, f fault) *life {
	t.Helper()
	b.copyTo(t, folder)
	s := &service{t: t, folder: folder, key: b.key}
	t.Cleanup(func() {
		s.kill()
		for _, log := range []string{"serve", "after"} {
			if text, err := os.ReadFile(world.LogPath(t, log)); t.Failed() && err == nil {
				t.Logf("the log of %s:\n%s", log, requestLine.ReplaceAll(text, nil))
			}
		}
	})
	l := &load{s: s, door: func() *service { return s }, most: client.Timeout, acknowledged: map[string]award{}, given: map[string]money.USD{}}
	l.users, l.size = b.users, 1
	next := 0
	if b.load != nil {
		next = b.load.nextKey
		maps.Copy(l.acknowledged, b.load.acknowledged)
		maps.Copy(l.given, b.load.given)
	}
	return &life{s: s, load: l, injector: inject(folder, chosen, f), next: next}
}

// run starts the service, sends its client's requests in order, and stops it.
func (l *life) run(rewards int) {
	t := l.s.t
	t.Helper()
	p, before := l.injector.begin(t, l.s.logName(), append([]string{
		"serve", "--listen", "127.0.0.1:0", "--database", l.s.database(),
	}, settings()...)...)
	l.s.cmd, l.s.exited = p.Cmd, p.Exited
	for deadline := time.Now().Add(20 * time.Second); l.s.url == "" && !l.over(); time.Sleep(2 * time.Millisecond) {
		l.s.url = world.ListensAt(t, l.s.logName(), before)
		if time.Now().After(deadline) {
			t.Fatalf("serve neither listens nor ends:\n%s", l.s.logs())
		}
	}
	first := l.next
	for ; l.next < first+rewards; l.next++ {
		l.give(l.next)
		switch l.next - first {
		case 0:
			l.give(l.next) // the replay
		case 1:
			l.settle()
		}
	}
	l.settle()
	l.close()
}

// over reports whether the process has ended. It lifts a lasting fault once it was noticed.
func (l *life) over() bool {
	const noticed = 300 * time.Millisecond
	if len(l.injector.done()) > 0 {
		if l.since.IsZero() {
			l.since = time.Now()
		}
		l.injector.lifted.Store(time.Since(l.since) > noticed)
	}
	if l.ended {
		return true
	}
	select {
	case l.exit = <-l.s.exited:
		l.s.cmd, l.ended = nil, true
	default:
	}
	return l.ended
}

// give requests the n-th reward until it is answered.
func (l *life) give(n int) {
	t := l.s.t
	user, amount, body := l.load.nth(n)
	for deadline := time.Now().Add(20 * time.Second); !l.over(); time.Sleep(2 * time.Millisecond) {
		a, err := l.s.request(t.Context(), "POST", "/v1/rewards", body)
		if err == nil && (a.status == 200 || a.status == 201) {
			var got struct{ Reward award }
			a.decode(t, &got)
			l.load.note(got.Reward, user, amount)
			return
		}
		if err == nil {
			l.refused++
			wantRefusal(t, a)
			l.read(deadline)
		}
		if time.Now().After(deadline) {
			t.Fatalf("the request %d is not answered: %v %d %s\n%s", n, err, a.status, a.body, l.s.logs())
		}
	}
}

// wantRefusal checks the answer to a write that is impossible now.
func wantRefusal(t *testing.T, a answer) {
	t.Helper()
	var body struct {
		Error struct{ Code, Message, RequestID string }
	}
	if err := json.Unmarshal(a.body, &body); err != nil || a.status != 503 || body.Error.Code == "" ||
		body.Error.Message == "" || a.header.Get("Retry-After") == "" {
		t.Errorf("a write was refused with %d, Retry-After %q, %s", a.status, a.header.Get("Retry-After"), a.body)
	}
}

// read checks that reads work.
func (l *life) read(deadline time.Time) {
	for _, path := range []string{"/v1/users/" + l.load.users[0] + "/portfolio", "/v1/rewards?limit=1"} {
		a, err := l.s.request(l.s.t.Context(), "GET", path, "")
		if err == nil && time.Now().Before(deadline) {
			l.wantRead(path, a)
		}
	}
}

// wantRead checks the answer to a read. One whose sync failed is refused, and then the process stops.
func (l *life) wantRead(path string, a answer) {
	switch {
	case a.status == 503:
		l.unread = string(a.body)
	case a.status != 200 || l.unread != "":
		l.s.t.Errorf("GET %s: %d %s; before: %s", path, a.status, a.body, l.unread)
	}
}

// settle waits until every acknowledged reward is executed.
func (l *life) settle() {
	t := l.s.t
	const path = "/v1/rewards?limit=200"
	for deadline := time.Now().Add(20 * time.Second); !l.over(); time.Sleep(5 * time.Millisecond) {
		a, err := l.s.request(t.Context(), "GET", path, "")
		if err == nil {
			l.wantRead(path, a)
		}
		if err == nil && strings.Count(string(a.body), `"status":"executed"`) >= min(len(l.load.acknowledged), 200) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not executed: %v %s\n%s", err, a.body, l.s.logs())
		}
	}
}

// close stops the process, if it still runs.
func (l *life) close() {
	if !l.over() {
		l.exit = l.s.stop()
	}
}

// result is what the process did, for the table, and what is wrong with it.
func (l *life) result(f fault) string {
	t := l.s.t
	text := world.ReadLog(t, l.s.logName())
	said := lastLine(text)
	if l.unread != "" && !l.ended {
		t.Errorf("it refused a read and went on: %s", l.unread)
	}
	switch {
	case f.kill:
		if l.exit == nil || l.exit.Error() != "signal: killed" {
			t.Errorf("it was to be killed and ended with %v", l.exit)
		}
		return "killed"
	case l.exit != nil && l.exit.Error() == "exit status 1":
		if f.errno != 0 && !strings.Contains("\n"+text, "\nstockrewards: ") && len(l.injector.done()) > 0 && l.injector.done()[0].file != "log" {
			t.Errorf("it ended without a reason: %q", said)
		}
		if l.s.url == "" {
			return "did not start: " + said
		}
		if l.ended {
			return "stopped: " + said
		}
		return "failed at the end: " + said
	case l.exit != nil:
		t.Errorf("it ended with %v: %s", l.exit, said)
		return l.exit.Error()
	case l.refused > 0:
		return "refused writes with 503, went on"
	case strings.Contains(text, `"level":"WARN"`) || strings.Contains(text, `"level":"ERROR"`):
		return "logged it, went on"
	default:
		return "went on"
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// account restarts the service without a fault and accounts for everything.
func (l *life) account() {
	t := l.s.t
	t.Helper()
	l.s.name = "after"
	l.s.start(settings()...)
	if len(l.load.users) == 0 {
		l.load.users = []string{l.s.newUser("anna"), l.s.newUser("bert")}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for n := range l.next {
		l.load.ask(ctx, n)
	}
	l.load.verifyRewards()
	if err := l.s.stop(); err != nil {
		t.Error(err)
	}
	l.s.command("audit")
	comparePositions(t, l.s.folder)
}

// grownStore is a database whose log is almost long enough for a checkpoint.
func grownStore(t *testing.T) seedStore {
	t.Helper()
	const enough = 3850 * (4096 + 24) // bytes; the engine begins at 4000 pages
	s := newService(t, t.TempDir())
	s.start(settings()...)
	l := newLoad(s, 2)
	l.resume()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		log, err := os.Stat(filepath.Join(s.folder, "rewards.db-wal"))
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("the log does not grow: %v", err)
		}
		if log.Size() >= enough {
			break
		}
	}
	s.kill()
	l.pause()
	return seedStore{folder: s.folder, key: s.key, users: l.users, load: l}
}
