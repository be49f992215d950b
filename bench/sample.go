package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
)

// atOnce is the number of concurrent requests that prepare a store.
const atOnce = 64

// sample is the data of a store that requests refer to.
type sample struct {
	users   []string // ids
	bodies  []string // of requests that recorded a reward
	rewards []string // ids
	holders []string // ids of users with five holdings
	busy    []string // ids of users with many rewards
}

// The shape of a sample: holders have five stocks, busy users a full page of rewards.
const (
	holdings  = 5
	busyUsers = 20
	listed    = 100
)

func makeSample(ctx context.Context, c client, users, holders int) (sample, error) {
	s := sample{users: make([]string, users)}
	prefix := strconv.Itoa(os.Getpid()) + "-"
	err := each(ctx, users, func(ctx context.Context, i int) error {
		var got struct{ User struct{ ID string } }
		body := `{"externalId":"` + prefix + strconv.Itoa(i) + `"}`
		err := c.must(ctx, http.StatusCreated, http.MethodPost, "/v1/users", body, &got)
		s.users[i] = got.User.ID
		return err
	})
	if err != nil {
		return s, err
	}
	s.holders, s.busy = s.users[:min(holders, users)], s.users[max(0, users-busyUsers):]
	for i, user := range s.holders {
		for n := range holdings {
			s.add(prefix, user, n*4+i%4)
		}
	}
	for _, user := range s.busy {
		for n := range listed {
			s.add(prefix, user, n)
		}
	}
	s.rewards = make([]string, len(s.bodies))
	return s, each(ctx, len(s.bodies), func(ctx context.Context, i int) error {
		var got struct{ Reward struct{ ID string } }
		err := c.must(ctx, http.StatusCreated, http.MethodPost, "/v1/rewards", s.bodies[i], &got)
		s.rewards[i] = got.Reward.ID
		return err
	})
}

// add adds a request for a reward of the n-th stock.
func (s *sample) add(prefix, user string, n int) {
	stocks := strings.Split(symbols, ",")
	s.bodies = append(s.bodies, fmt.Sprintf(`{"userId":%q,"idempotencyKey":"%ssample-%06d","amountUsd":%d.25,`+
		`"assetSymbol":%q,"source":"referral","metadata":%s}`,
		user, prefix, len(s.bodies), 1+n%15, stocks[n%len(stocks)], sampleMetadata))
}

// each runs f for 0 to n-1, up to atOnce at a time, until one fails.
func each(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for i := range n {
		if ctx.Err() != nil {
			break
		}
		g.Go(func() error { return f(ctx, i) })
	}
	return g.Wait()
}

// recipients are the users who get new rewards. Holders get none, so that their portfolios stay the
// same size, unless all users are holders.
func (s sample) recipients() []string {
	holds := make(map[string]bool, len(s.holders))
	for _, user := range s.holders {
		holds[user] = true
	}
	others := slices.DeleteFunc(slices.Clone(s.users), func(user string) bool { return holds[user] })
	if len(others) == 0 {
		return s.users
	}
	return others
}

func (s sample) write(folder string) error {
	paths := func(format string, ids []string) []string {
		list := make([]string, len(ids))
		for i, id := range ids {
			list[i] = fmt.Sprintf(format, id)
		}
		return list
	}
	for name, lines := range map[string][]string{
		fileUsers:     s.recipients(),
		fileBodies:    s.bodies,
		filePortfolio: paths("/v1/users/%s/portfolio", s.holders),
		fileReward:    paths("/v1/rewards/%s", s.rewards),
		fileList:      {"/v1/rewards?limit=100"},
		fileListUser:  paths("/v1/rewards?limit=100&userId=%s", s.busy),
	} {
		if len(lines) == 0 {
			return fmt.Errorf("cannot write the file %q: the store has no such data", name)
		}
		text := strings.Join(lines, "\n") + "\n"
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func writeCeiling(folder string, users int) error {
	s := sample{
		users: make([]string, users), bodies: []string{"{}"},
		rewards: []string{""}, holders: []string{""}, busy: []string{""},
	}
	for i := range s.users {
		s.users[i] = fmt.Sprintf("%s%08x", sampleID[:len(sampleID)-8], i)
	}
	if err := s.write(folder); err != nil {
		return err
	}
	for name, path := range map[string]string{
		fileReward: "/reward", filePortfolio: "/portfolio", fileList: "/list", fileListUser: "/list",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(path+"\n"), 0o600); err != nil {
			return err
		}
	}
	return nil
}

const (
	fileUsers     = "users"
	fileBodies    = "bodies"
	filePortfolio = "portfolios"
	fileReward    = "rewards"
	fileList      = "list"
	fileListUser  = "lists"
)
