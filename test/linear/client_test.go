package linear

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"stockrewards/test/world"
)

// patience is how long checking a history may take.
const patience = 2 * time.Minute

// site is the processes over one database to which clients send requests.
type site struct {
	doors  []string
	newApp func() string // creates an app and returns its key
	killed *program      // nil if no process is
	buys   bool          // rewards are bought
}

// tally counts the interesting cases of all rounds.
type tally struct {
	operations int
	statuses   map[int]int
	again      int // requests with an unknown outcome, retried at the next process
	resolved   int // of those, replayed by it
	crossed    int // replays by another process than the one that answered 201
	orphans    int // rewards that exist although no client got 201
	executed   int // replays of executed rewards
	alone      int // answers while a process was down
}

// round is one history, of a separate app.
type round struct {
	t     *testing.T
	site  site
	key   string
	user  string
	began time.Time

	mu       sync.Mutex
	awards   []porcupine.Operation
	users    []porcupine.Operation
	rewards  map[string][]string // ids in answers, by key
	people   map[string][]string // ids in answers, by family
	recorder map[string]int      // the process that answered 201, by key
	seen     *tally
}

// Keys and families are few, so that requests collide, and change during a round, so that
// requests collide on unused ones.
const (
	keys        = 10
	families    = 6
	opsOfRound  = 360
	clients     = 6
	impatientIn = 12 // one request in this many is abandoned
	twinIn      = 4  // one change in this many is sent twice concurrently
)

// play runs rounds until there were enough operations, and checks that each is linearizable.
func play(t *testing.T, s site, enough func(operations int) bool) tally {
	t.Helper()
	all := tally{statuses: map[int]int{}}
	for !t.Failed() && (met(all.statuses) < len(expected()) || !enough(all.operations)) {
		r := &round{
			t: t, site: s, key: s.newApp(), began: time.Now(), seen: &all,
			rewards: map[string][]string{}, people: map[string][]string{}, recorder: map[string]int{},
		}
		r.user = r.firstUser()
		r.everybody(r.client)
		if s.buys {
			r.awaitBought()
			r.everybody(r.lateClient)
		}
		r.judge(awards(), r.awards)
		r.judge(users(), r.users)
		all.operations += len(r.awards) + len(r.users)
		all.orphans += len(r.rewards) - len(r.recorder)
	}
	t.Logf("checked: %+v", all)
	return all
}

func (r *round) everybody(client func(id int)) {
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() { client(c) })
	}
	all.Wait()
}

// expected are the statuses that colliding clients get.
func expected() []int { return []int{200, 201, 404, 409, 422} }

func met(statuses map[int]int) (n int) {
	for _, status := range expected() {
		n += min(1, statuses[status])
	}
	return n
}

// judge fails unless a history is linearizable; a violation is drawn to a file.
func (r *round) judge(m porcupine.Model, history []porcupine.Operation) {
	r.t.Helper()
	for _, part := range m.Partition(history) {
		result, info := porcupine.CheckOperationsVerbose(m, part, patience)
		if result == porcupine.Ok {
			continue
		}
		file := filepath.Join(r.t.ArtifactDir(), "history.html")
		if err := porcupine.VisualizePath(m, info, file); err != nil {
			r.t.Error(err)
		}
		var text strings.Builder
		for _, o := range part {
			fmt.Fprintf(&text, "%d to %d, client %d: %s\n", o.Call, o.Return, o.ClientId, m.DescribeOperation(o.Input, o.Output))
		}
		r.t.Errorf("not linearizable (%s), drawn in %s:\n%s", result, file, text.String())
		return
	}
}

// firstUser creates the user of all rewards; after a kill it retries for a while.
func (r *round) firstUser() string {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		status, text, _ := r.send(r.t.Context(), r.site.doors[0], http.MethodPost, "/v1/users", `{"externalId":"the one"}`)
		var got struct {
			User  struct{ ID string }
			Error struct{ Details struct{ UserID string } }
		}
		_ = json.Unmarshal(text, &got)
		if status == 201 {
			return got.User.ID
		}
		if status == 409 { // an earlier attempt's
			return got.Error.Details.UserID
		}
		time.Sleep(10 * time.Millisecond)
	}
	r.t.Error("no user can be created")
	return ""
}

func (r *round) client(id int) {
	random := rand.New(rand.NewPCG(uint64(r.began.UnixNano()), uint64(id)))
	for i := range opsOfRound / clients {
		progress := func(of int) int { return min(of-1, i*of*clients/opsOfRound+random.IntN(2)) }
		switch kind := random.IntN(100); {
		case kind < 45:
			r.give(id, random, fmt.Sprintf("the-key-%d", progress(keys)))
		case kind < 52:
			r.look(id, random, fmt.Sprintf("the-key-%d", progress(keys)))
		case kind < 57:
			r.list(id, random)
		case kind < 82:
			r.create(id, random, fmt.Sprint("family-", progress(families)))
		case kind < 95:
			r.find(id, random, fmt.Sprint("family-", progress(families)))
		default:
			r.read(id, random, fmt.Sprint("family-", progress(families)))
		}
	}
}

func (r *round) awaitBought() {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		_, text, _ := r.send(r.t.Context(), r.site.doors[0], http.MethodGet, "/v1/rewards?status=executed", "")
		var got struct{ Rewards []reward }
		if json.Unmarshal(text, &got) == nil && len(got.Rewards) > 0 {
			return
		}
	}
	r.t.Error("nothing is bought")
}

func (r *round) lateClient(id int) {
	random := rand.New(rand.NewPCG(uint64(r.began.UnixNano()), uint64(clients+id)))
	for range keys {
		r.give(id, random, fmt.Sprintf("the-key-%d", random.IntN(keys)))
		r.look(id, random, fmt.Sprintf("the-key-%d", random.IntN(keys)))
	}
}

// sent is a request with its answer and their times.
type sent struct {
	call, answered int64
	door           int
	status         int
	body           []byte
}

func (r *round) ask(random *rand.Rand, method, path, body string) sent {
	return r.askAt(random.IntN(len(r.site.doors)), random, method, path, body)
}

// askAt sends a request to a process, or to the next one if that does not listen. Without an
// answer, and after 503, the outcome is unknown.
func (r *round) askAt(door int, random *rand.Rand, method, path, body string) sent {
	for ; ; door++ {
		door %= len(r.site.doors)
		ctx, cancel := context.WithTimeout(r.t.Context(), 10*time.Second)
		if random.IntN(impatientIn) == 0 {
			cancel()
			ctx, cancel = context.WithTimeout(r.t.Context(), time.Duration(random.Int64N(int64(8*time.Millisecond))))
		}
		s := sent{call: int64(time.Since(r.began)), answered: never, door: door}
		status, text, err := r.send(ctx, r.site.doors[door], method, path, body)
		cancel()
		switch {
		case errors.Is(err, syscall.ECONNREFUSED) && r.t.Context().Err() == nil:
			time.Sleep(5 * time.Millisecond)
			continue
		case err == nil && status < 500:
			s.answered, s.status, s.body = int64(time.Since(r.began)), status, text
		case err == nil && status != 503:
			r.t.Errorf("%s %s: %d %s", method, path, status, text)
		}
		r.count(s.status)
		return s
	}
}

func (r *round) count(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen.statuses[status]++
	if status == unknown || r.site.killed == nil {
		return
	}
	r.site.killed.answers.Add(1)
	if r.site.killed.down.Load() > 0 {
		r.seen.alone++
	}
}

// recall counts a recording and its replays; again marks a retry.
func (r *round) recall(key string, s sent, again bool, w reward) {
	r.mu.Lock()
	defer r.mu.Unlock()
	recorder, known := r.recorder[key]
	if s.status == http.StatusCreated {
		r.recorder[key] = s.door
		return
	}
	if again {
		r.seen.resolved++
	}
	if known && recorder != s.door {
		r.seen.crossed++
	}
	if w.Status == "executed" {
		r.seen.executed++
	}
}

func (r *round) send(ctx context.Context, door, method, path, body string) (int, []byte, error) {
	answer, text, err := world.Request(ctx, http.DefaultClient, r.key, method, door+path, body)
	if err != nil {
		return 0, nil, err
	}
	return answer.StatusCode, text, nil
}

// decode decodes an answer; an invalid one fails the test.
func (r *round) decode(s sent, into any) {
	if s.status == unknown {
		return
	}
	if err := json.NewDecoder(bytes.NewReader(s.body)).Decode(into); err != nil {
		r.t.Errorf("%d %s: %v", s.status, s.body, err)
	}
}

// note adds an operation to a history. A read with an unknown outcome has no effect.
func (r *round) note(history *[]porcupine.Operation, client int, s sent, input, output any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*history = append(*history, porcupine.Operation{ClientId: client, Call: s.call, Return: s.answered, Input: input, Output: output})
}

// learn stores an id from an answer; pick returns one.
func (r *round) learn(of map[string][]string, name, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of[name] = append(of[name], id)
}

func (r *round) pick(random *rand.Rand, of map[string][]string, name string) (string, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(of[name]) == 0 {
		return "", false
	}
	return of[name][random.IntN(len(of[name]))], true
}
