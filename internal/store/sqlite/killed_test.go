package sqlite_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
	"stockrewards/internal/store/sqlite"
	"stockrewards/internal/store/storetest"
)

// killedStore is the variable with the path of the store that a process records into until it is
// killed.
const killedStore = "STOCKREWARDS_KILLED_STORE"

func TestMain(m *testing.M) {
	if path := os.Getenv(killedStore); path != "" {
		fmt.Fprintln(os.Stderr, recordUntilKilled(path))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// recordUntilKilled records copies of the request on its input, and prints the keys of each commit.
func recordUntilKilled(path string) error {
	ctx := context.Background()
	var request rewards.NewReward
	if err := json.NewDecoder(os.Stdin).Decode(&request); err != nil {
		return err
	}
	e, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	s, err := store.New(ctx, e, time.Now, rand.Reader)
	if err != nil {
		return err
	}
	s.SealEvery(storetest.SegmentSize)
	for number := 0; ; {
		var batch []rewards.NewReward
		for range 1 + number%5 {
			r := request
			r.IdempotencyKey = fmt.Sprint(request.IdempotencyKey, "-", number)
			r.Fingerprint = rewards.NewFingerprint(r, "")
			batch, number = append(batch, r), number+1
		}
		if _, err := s.RecordRewards(ctx, batch); err != nil {
			return err
		}
		for _, r := range batch {
			fmt.Println(r.IdempotencyKey)
		}
		if _, err := s.SealSegment(ctx); err != nil {
			return err
		}
	}
}

// A process is killed again and again while it records and seals. What it acknowledged is stored
// once, for the next process as for one that ran all the time.
func TestSegmentsSurviveKills(t *testing.T) {
	t.Parallel()
	const kills = 25
	path := migratedFile(t)
	open := func() store.Engine { return openFile(t, path) }
	w := storetest.NewWorld(t, open())
	var acknowledged []rewards.NewReward
	for round := range kills {
		r := w.Request(t, 1_000_000)
		for _, key := range recordAndKill(t, path, r, 1+round*7%20) {
			r.IdempotencyKey = key
			r.Fingerprint = rewards.NewFingerprint(r, "")
			acknowledged = append(acknowledged, r)
		}
		outcomes, err := w.RecordRewards(t.Context(), acknowledged)
		check(t, err)
		for i, o := range outcomes {
			if o.Verdict != rewards.Replay {
				t.Fatalf("kill %d: verdict %d of the acknowledged reward %s", round, o.Verdict, acknowledged[i].IdempotencyKey)
			}
		}
	}
	list, err := w.Rewards(t.Context(), w.App.ID, rewards.RewardFilter{UserID: &w.Users[0].ID}, rewards.Page[rewards.Reward]{Limit: 10_000})
	check(t, err)
	stored := make(map[string]bool)
	for _, r := range list {
		if stored[r.IdempotencyKey] {
			t.Errorf("%s is stored or listed twice", r.IdempotencyKey)
		}
		stored[r.IdempotencyKey] = true
	}
	for _, r := range acknowledged {
		if !stored[r.IdempotencyKey] {
			t.Errorf("%s is not listed", r.IdempotencyKey)
		}
	}
}

// recordAndKill starts a process that records copies of a request, kills it after some keys, and
// returns the keys that it acknowledged.
func recordAndKill(t *testing.T, path string, r rewards.NewReward, after int) (keys []string) {
	t.Helper()
	template, err := json.Marshal(r)
	check(t, err)
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), killedStore+"="+path), os.Stderr
	in, err := cmd.StdinPipe()
	check(t, err)
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	_, err = in.Write(template)
	check(t, err)
	check(t, in.Close())
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if keys = append(keys, lines.Text()); len(keys) == after {
			check(t, cmd.Process.Kill())
		}
	}
	if err := cmd.Wait(); err == nil || len(keys) < after {
		t.Fatalf("the process ended by itself after %d keys: %v", len(keys), err)
	}
	return keys
}
