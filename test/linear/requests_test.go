package linear

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

type reward struct {
	ID, UserID, IdempotencyKey, AssetSymbol, Status string
	AmountUSD                                       json.Number `json:"amountUsd"`
}

func (r *round) answer(status int, w reward) answer {
	payload := map[json.Number]int{"1": one, "2": two}[w.AmountUSD]
	if status >= 300 {
		return answer{status: status}
	}
	if w.UserID != r.user || w.AssetSymbol != "AAPL" || w.AmountUSD != "1" && w.AmountUSD != "2" {
		r.t.Errorf("a reward that nobody gave: %+v", w)
	}
	return answer{status, w.ID, payload}
}

// give requests a reward. After an unknown outcome it retries at the next process, as clients
// do.
func (r *round) give(client int, random *rand.Rand, key string) {
	in := give{key, random.IntN(payloads)}
	if random.IntN(twinIn) == 0 {
		r.twins(random, func(door int, random *rand.Rand) { r.giveAt(door, client, random, in, false) })
		return
	}
	door := random.IntN(len(r.site.doors))
	const most = 3
	for attempt := range most {
		s := r.giveAt(door, client, random, in, attempt > 0)
		if s.status != unknown {
			return
		}
		door = (s.door + 1) % len(r.site.doors)
		r.mu.Lock()
		r.seen.again += min(1, most-1-attempt)
		r.mu.Unlock()
	}
}

// twins sends the same request concurrently to two processes.
func (r *round) twins(random *rand.Rand, request func(door int, random *rand.Rand)) {
	door := random.IntN(len(r.site.doors))
	other := rand.New(rand.NewPCG(random.Uint64(), random.Uint64()))
	var second sync.WaitGroup
	second.Go(func() { request((door+1)%len(r.site.doors), other) })
	request(door, random)
	second.Wait()
}

func (r *round) giveAt(door, client int, random *rand.Rand, in give, again bool) sent {
	user, symbol, amount := r.user, "AAPL", 1
	switch in.payload {
	case two:
		amount = 2
	case noUser:
		user = "01890000-0000-7000-8000-000000000000"
	case noSymbol:
		symbol = "NONE"
	}
	s := r.askAt(door, random, http.MethodPost, "/v1/rewards", fmt.Sprintf(
		`{"userId":%q,"idempotencyKey":%q,"amountUsd":%d,"assetSymbol":%q}`, user, in.key, amount, symbol))
	var got struct{ Reward reward }
	r.decode(s, &got)
	out := answer{}
	if s.status != unknown {
		out = r.answer(s.status, got.Reward)
	}
	if out.id != "" {
		r.learn(r.rewards, in.key, out.id)
		r.recall(in.key, s, again, got.Reward)
	}
	r.note(&r.awards, client, s, in, out)
	return s
}

func (r *round) look(client int, random *rand.Rand, key string) {
	id, known := r.pick(random, r.rewards, key)
	if !known {
		return
	}
	s := r.ask(random, http.MethodGet, "/v1/rewards/"+id, "")
	if s.status == unknown {
		return
	}
	var got struct{ Reward reward }
	r.decode(s, &got)
	r.note(&r.awards, client, s, look{key, id}, r.answer(s.status, got.Reward))
}

// list reads the whole list, which is a read of every key.
func (r *round) list(client int, random *rand.Rand) {
	s := r.ask(random, http.MethodGet, "/v1/rewards?limit=200", "")
	if s.status == unknown {
		return
	}
	var got struct{ Rewards []reward }
	r.decode(s, &got)
	found := map[string]answer{}
	for _, w := range got.Rewards {
		if _, twice := found[w.IdempotencyKey]; twice {
			r.t.Errorf("%s is listed twice", w.IdempotencyKey)
		}
		found[w.IdempotencyKey] = r.answer(s.status, w)
	}
	for k := range keys {
		key := fmt.Sprintf("the-key-%d", k)
		out, there := found[key]
		if !there {
			out = answer{status: http.StatusNotFound}
		}
		r.note(&r.awards, client, s, list{key}, out)
	}
}

type user struct {
	ID                string
	Email, ExternalID *string
}

// The values of an identity's members. Emails are equal in either case.
func (i identity) emailText(family string, random *rand.Rand) string {
	text := fmt.Sprintf("%s-%d@example.org", family, i.email)
	if random.IntN(2) == 0 {
		return strings.ToUpper(text)
	}
	return text
}

func (i identity) externalText(family string) string { return fmt.Sprintf("%s-%d", family, i.external) }

func (r *round) person(family string, u user) person {
	p := person{id: u.ID}
	for n := 1; n <= 2; n++ {
		i := identity{n, n}
		if u.Email != nil && strings.EqualFold(*u.Email, fmt.Sprintf("%s-%d@example.org", family, n)) {
			p.email = n
		}
		if u.ExternalID != nil && *u.ExternalID == i.externalText(family) {
			p.external = n
		}
	}
	if (u.Email == nil) != (p.email == 0) || (u.ExternalID == nil) != (p.external == 0) || p.identity == (identity{}) {
		r.t.Errorf("a user that nobody created: %+v", u)
	}
	return p
}

func someone(random *rand.Rand) identity {
	i := identity{random.IntN(3), random.IntN(3)}
	if i == (identity{}) {
		i.email = 1
	}
	return i
}

func (r *round) create(client int, random *rand.Rand, name string) {
	in := create{name, someone(random)}
	if random.IntN(twinIn) == 0 {
		r.twins(random, func(door int, random *rand.Rand) { r.createAt(door, client, random, in) })
		return
	}
	r.createAt(random.IntN(len(r.site.doors)), client, random, in)
}

func (r *round) createAt(door, client int, random *rand.Rand, in create) {
	name := in.family
	members := map[string]string{}
	if in.email != 0 {
		members["email"] = in.emailText(name, random)
	}
	if in.external != 0 {
		members["externalId"] = in.externalText(name)
	}
	body, err := json.Marshal(members)
	if err != nil {
		r.t.Error(err)
	}
	s := r.askAt(door, random, http.MethodPost, "/v1/users", string(body))
	var got struct {
		User  user
		Error struct {
			Details struct{ Field, UserID string }
		}
	}
	r.decode(s, &got)
	out := shown{status: s.status}
	switch s.status {
	case http.StatusCreated:
		p := r.person(name, got.User)
		r.learn(r.people, name, p.id)
		out.people = family{}.with(p)
	case http.StatusConflict:
		out.field, out.people[3].id = got.Error.Details.Field, got.Error.Details.UserID
		r.learn(r.people, name, got.Error.Details.UserID)
	}
	r.note(&r.users, client, s, in, out)
}

func (r *round) find(client int, random *rand.Rand, name string) {
	in := find{name, someone(random)}
	if random.IntN(4) == 0 {
		in.identity = identity{}
	}
	filter := url.Values{"limit": {"200"}}
	if in.email != 0 {
		filter.Set("email", in.emailText(name, random))
	}
	if in.external != 0 {
		filter.Set("externalId", in.externalText(name))
	}
	s := r.ask(random, http.MethodGet, "/v1/users?"+filter.Encode(), "")
	if s.status == unknown {
		return
	}
	var got struct{ Users []user }
	r.decode(s, &got)
	out, n := shown{status: s.status}, 0
	for _, u := range got.Users {
		text, _ := json.Marshal(u)
		if strings.Contains(strings.ToLower(string(text)), name+"-") {
			out.people = out.people.with(r.person(name, u))
			n++
		}
	}
	if n > len(out.people) {
		r.t.Errorf("%d users of a family: %s", n, s.body)
	}
	r.note(&r.users, client, s, in, out)
}

func (r *round) read(client int, random *rand.Rand, name string) {
	id, known := r.pick(random, r.people, name)
	if !known {
		return
	}
	s := r.ask(random, http.MethodGet, "/v1/users/"+id, "")
	if s.status == unknown {
		return
	}
	out := shown{status: s.status}
	if s.status == http.StatusOK {
		var got struct{ User user }
		r.decode(s, &got)
		out.people = family{}.with(r.person(name, got.User))
	}
	r.note(&r.users, client, s, read{name, id}, out)
}
