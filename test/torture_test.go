package test

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// `make torture` uses larger values.
var (
	tortureSeed = flag.Uint64("torture-seed", 0, "which places and moments; 0: others each time")
	tortureFor  = flag.Duration("torture-for", 30*time.Second, "how long faults are injected; 0: at every place")
	tortureOnly = flag.String("torture-only", "", "inject only where SCENE/PLACE/FAULT matches")
)

// chance seeds the random choices of a torture; the log shows it.
func chance(t *testing.T) *rand.Rand {
	t.Helper()
	seed := *tortureSeed
	for seed == 0 {
		seed = rand.Uint64N(1 << 32)
	}
	t.Logf("-torture-seed=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// scene is a life with system calls in which faults are injected.
type scene struct {
	name  string
	store seedStore
	live  func(t *testing.T, b seedStore, chosen func(place) bool, f fault) *life
	pick  func([]place) []place // of the calls in a life without faults
}

// trial is one fault at one place of a scene.
type trial struct {
	scene scene
	place place
	fault fault
}

func (r trial) String() string {
	return fmt.Sprintf("%s/%s/%s", r.scene.name, r.place, r.fault)
}

// order puts the trials that found a bug first.
func (r trial) order() int {
	if r.place.call == "open" && r.place.nth == 1 {
		return 0
	}
	return 1
}

// faultsAt are the faults to inject at a place.
func faultsAt(p place) []fault {
	if p.file == "log" && p.nth == 1 { // it has the address that clients need
		return []fault{{kill: true}}
	}
	list := []fault{{kill: true}, {errno: syscall.EIO}, {errno: syscall.ENOSPC}}
	if p.call == "pwrite64" {
		list = append(list, fault{half: true, kill: true})
	}
	if p.file == "rewards.db-wal" && p.nth%4 == 0 { // the disk is full or read-only for a while
		list = append(list, fault{errno: syscall.ENOSPC, stays: true}, fault{errno: syscall.EROFS, stays: true})
	}
	return list
}

// At every system call that changes a file, the process is killed before it, the write is
// torn, and the call fails with an I/O error and for lack of space. Nothing acknowledged is
// lost, and nothing is bought twice.
func TestFaultsAtEveryCall(t *testing.T) {
	t.Parallel()
	random, table := chance(t), newTortureTable()
	trials := plan(t, table)
	random.Shuffle(len(trials), func(a, b int) { trials[a], trials[b] = trials[b], trials[a] })
	slices.SortStableFunc(trials, func(a, b trial) int { return cmp.Compare(a.order(), b.order()) })
	only := regexp.MustCompile(*tortureOnly)
	trials = slices.DeleteFunc(trials, func(r trial) bool { return !only.MatchString(r.String()) })
	began, done := time.Time{}, 0 // when the first trial ran
	var mu sync.Mutex
	var first sync.Once
	t.Run("inject", func(t *testing.T) {
		for _, r := range trials {
			t.Run(r.String(), func(t *testing.T) {
				t.Parallel()
				first.Do(func() { began = time.Now() })
				if *tortureFor > 0 && time.Since(began) > *tortureFor {
					return
				}
				r.run(t, table)
				mu.Lock()
				defer mu.Unlock()
				done++
				if done%50 == 0 {
					t.Logf("%d of %d faults, %s", done, len(trials), time.Since(began).Round(time.Second))
				}
			})
		}
	})
	t.Logf("%s%d of %d faults in %s", table, done, len(trials), time.Since(began).Round(time.Second))
	if table.injected == 0 {
		t.Error("nothing was injected")
	}
}

// plan runs every scene without a fault and lists the possible trials.
func plan(t *testing.T, table *tortureTable) []trial {
	t.Helper()
	var trials []trial
	for _, s := range scenes(t) {
		l := s.live(t, s.store, never, fault{})
		if l.exit != nil {
			t.Fatalf("%s: an untroubled life ends with %v", s.name, l.exit)
		}
		places := s.pick(l.injector.calls())
		for _, p := range places {
			table.found(s.name, p)
			for _, f := range faultsAt(p) {
				trials = append(trials, trial{s, p, f})
			}
		}
		t.Logf("scene %s: %d calls, %d places to inject at", s.name, len(l.injector.calls()), len(places))
	}
	return trials
}

// run injects the fault and accounts for everything afterwards. Lives differ in their calls:
// one that does not reach the place is repeated.
func (r trial) run(t *testing.T, table *tortureTable) {
	const patience = 4
	for range patience {
		l := r.scene.live(t, r.scene.store, at(r.place), r.fault)
		injected := l.injector.done()
		if len(injected) == 0 {
			continue
		}
		table.note(r, l.result(r.fault), len(l.load.acknowledged))
		l.account()
		return
	}
	table.miss()
}

// scenes are the lives in which faults are injected.
func scenes(t *testing.T) []scene {
	t.Helper()
	all := func(p []place) []place { return p }
	short := scene{name: "life", store: plantStore(t), live: liveShort, pick: all}
	first := scene{name: "setup", live: liveSetup, pick: all}
	carry := scene{name: "checkpoint", store: grownStore(t), live: liveCheckpoint, pick: carried}
	return []scene{short, first, carry}
}

// liveShort records, replays, plans, submits, fills, settles, and ends.
func liveShort(t *testing.T, b seedStore, chosen func(place) bool, f fault) *life {
	t.Helper()
	l := newLife(t, b, t.TempDir(), chosen, f)
	l.run(4)
	return l
}

// liveSetup creates the database.
func liveSetup(t *testing.T, _ seedStore, chosen func(place) bool, f fault) *life {
	t.Helper()
	l := newLife(t, seedStore{}, t.TempDir(), chosen, f)
	p, _ := l.injector.begin(t, l.s.logName(), "app", "create", "first", "--database", l.s.database())
	l.s.cmd, l.s.exited = p.Cmd, p.Exited
	l.exit = <-p.Exited
	l.s.cmd, l.ended = nil, true
	list, err := exec.Command(binary, "app", "list", "--database", l.s.database()).CombinedOutput()
	if l.exit == nil && (err != nil || !strings.Contains(string(list), "first")) {
		t.Errorf("app create succeeded, app list: %s, %v", list, err)
	}
	l.s.key = strings.TrimSpace(l.s.command("app", "create", "second"))
	l.next = 2
	return l
}

// liveCheckpoint continues with a log that is due for a checkpoint.
func liveCheckpoint(t *testing.T, b seedStore, chosen func(place) bool, f fault) *life {
	t.Helper()
	l := newLife(t, b, t.TempDir(), chosen, f)
	l.run(12)
	return l
}

// carried are the places of the checkpoint and of the log's restart: some page writes, and
// all other calls.
func carried(calls []place) []place {
	begin := slices.IndexFunc(calls, func(p place) bool { return p.file == "rewards.db" && p.call == "pwrite64" })
	if begin < 1 {
		return nil
	}
	const pages = 40
	var list []place
	step := max(1, (len(calls)-begin)/pages)
	for n, p := range calls[begin-1:] {
		if !strings.HasPrefix(p.file, "rewards.db") {
			continue
		}
		if p.call != "pwrite64" || n%step == 0 {
			list = append(list, p)
		}
	}
	return list
}

// After a failed checkpoint the process stops and says why; the write-ahead log has every
// reward.
func TestAnIOErrorInACheckpointStopsTheProcess(t *testing.T) {
	t.Parallel()
	for _, p := range []place{{"pwrite64", "rewards.db", 1}, {"fsync", "rewards.db", 1}} {
		l := liveCheckpoint(t, grownStore(t), at(p), fault{errno: syscall.EIO})
		if !slices.Equal(l.injector.done(), []place{p}) {
			t.Fatalf("injected at %v, wanted at %s", l.injector.done(), p)
		}
		const want = "stockrewards: cannot continue without the database; the next start recovers: sqlite: cannot checkpoint: "
		if !l.ended || l.exit == nil || l.exit.Error() != "exit status 1" || !strings.Contains(l.s.logs(), want) {
			t.Errorf("%s: it ended by itself: %t, with %v\n%s", p, l.ended, l.exit, lastLine(l.s.logs()))
		}
		l.account()
	}
}
