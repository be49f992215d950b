package sim

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"time"

	"stockrewards/internal/broker/paper"
	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// companies are the stocks to which corporate actions happen, and a model of what users hold.
type companies struct {
	list      []*firm
	events    []*event
	byID      map[string]*event               // also by the ids of the announcements that are wrong
	planned   int                             // events to announce, beside most dividends
	announced int                             // of these
	awards    [apps]map[rewards.RewardID]bool // that cash became
	entered   int
	mistakes  int
}

// firm is a stock, by its first symbol.
type firm struct {
	name      string
	now       string // the brokerage's symbol
	given     bool   // it is in the catalog
	quiet     bool   // nothing is announced of it
	dividends int    // announced
	gone      bool   // it is no longer listed
	event     *event // announced, and not over
	next      *event // announced, of a later day than event
	held      map[rewards.UserID]lot
	bought    []purchase
	changed   time.Time // when something happened to it last
}

// lot is what the model says that a user holds.
type lot struct {
	shares money.Shares
	basis  money.USD
}

// purchase is what an order bought for a user, in the units of now.
type purchase struct {
	user   rewards.UserID
	shares money.Shares
	at     time.Time // when the order was filled
}

// event is a corporate action as it really happens.
type event struct {
	id, kind      string
	terms         rewards.Terms
	stock, target *firm
	keep, give    *big.Rat
	fault         string
	boundary, at  time.Time // 20:00 of the session before, and when it happens
	moved         time.Time // when the position has changed
	listed        bool      // as it is, and in time
	mistake       bool      // it never happens: an operator enters it, and takes it back
	withdrawn     bool
	withdrawnAt   time.Time // by the brokerage
	renamed       bool
	applied       bool
	swept, undone bool
	reported      string // the part of the basis that a spin-off moved
	changed       map[rewards.UserID][2]lot
	entitled      map[rewards.UserID]money.Shares // in the units of the ex-date
	house         money.Shares                    // had when that was recorded
}

const firstCompanies = 8

// cashDividend is the kind of event that changes no holding: it may come beside any other one of its stock.
const cashDividend = "cash_dividend"

func newCompanies(events int) *companies {
	c := &companies{byID: map[string]*event{}, planned: events}
	for i := range firstCompanies + events/2 {
		c.add(fmt.Sprintf("X%c%c", 'A'+i/26, 'A'+i%26)).given = true
	}
	return c
}

func (c *companies) add(name string) *firm {
	s := &firm{name: name, now: name, held: map[rewards.UserID]lot{}}
	c.list = append(c.list, s)
	return s
}

// catalog is the companies as the brokerage lists them in the beginning.
func (c *companies) catalog() (list []paper.Asset) {
	if c == nil {
		return nil
	}
	for i, s := range c.list {
		list = append(list, paper.Asset{
			Symbol: s.name, Name: s.name, Exchange: "NYSE", Price: money.Price(20+17*i%300) * 1_000_000_000,
		})
	}
	return list
}

// of is the company with this symbol, now or before; nil for none.
func (c *companies) of(symbol string) *firm {
	if c == nil {
		return nil
	}
	for _, s := range c.list {
		if s.name == symbol || s.now == symbol {
			return s
		}
	}
	return nil
}

// catalogNow is the companies that the brokerage lists and that can be given.
func (c *companies) catalogNow() []*firm {
	if c == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(c.list), func(s *firm) bool { return s.gone || !s.given })
}

// idle lists the companies to which nothing happens and that can be given.
func (c *companies) idle() []*firm {
	return slices.DeleteFunc(slices.Clone(c.list), func(s *firm) bool { return s.gone || !s.given || s.event != nil })
}

// floor returns a ratio of a number, rounded down.
func floor(n int64, by *big.Rat) int64 {
	product := new(big.Int).Mul(big.NewInt(n), by.Num())
	return product.Quo(product, by.Denom()).Int64()
}

// happenTo changes what the users hold, as the event says.
func (e *event) happenTo() {
	e.changed = map[rewards.UserID][2]lot{}
	e.stock.count(e.keep, time.Now())
	for user, had := range e.stock.held {
		kept, given := lot{money.Shares(floor(int64(had.shares), e.keep)), had.basis}, lot{}
		if e.target != nil {
			given.shares = money.Shares(floor(int64(had.shares), e.give))
		}
		switch e.kind {
		case "spin_off":
			part, ok := new(big.Rat).SetString(e.reported)
			if ok {
				given.basis = money.USD(floor(int64(had.basis), part))
			}
			kept.basis -= given.basis
		case "stock_merger", "stock_and_cash_merger":
			given.basis, kept.basis = had.basis, 0
		case "cash_merger", "worthless_removal":
			kept.basis = 0
		}
		e.stock.held[user] = kept
		e.changed[user] = [2]lot{{kept.shares - had.shares, kept.basis - had.basis}, given}
		if e.target != nil {
			to := e.target.held[user]
			e.target.held[user] = lot{to.shares + given.shares, to.basis + given.basis}
		}
	}
}

// count expresses what was bought before in other units.
func (s *firm) count(by *big.Rat, before time.Time) {
	for i, p := range s.bought {
		if p.at.Before(before) {
			s.bought[i].shares = money.Shares(floor(int64(p.shares), by))
		}
	}
}

// undo takes the event back. What a user no longer has is not taken.
func (e *event) undo() {
	e.stock.count(new(big.Rat).Inv(e.keep), e.at)
	for user, change := range e.changed {
		for i, s := range []*firm{e.stock, e.target} {
			if s == nil {
				continue
			}
			has := s.held[user]
			s.held[user] = lot{max(0, has.shares-change[i].shares), max(0, has.basis-change[i].basis)}
		}
	}
}

// over ends the event for its stocks.
func (e *event) over() {
	for _, s := range []*firm{e.stock, e.target} {
		switch {
		case s == nil:
		case s.event == e:
			s.event, s.next, s.changed = s.next, nil, time.Now()
		case s.next == e:
			s.next = nil
		}
	}
}

// splits reports whether the event only changes the number of shares.
func (e *event) splits() bool { return slices.Contains(splitKinds(), e.kind) }

func splitKinds() []string { return []string{"forward_split", "reverse_split", "stock_dividend"} }

// open reports whether the stock must not be ordered.
func (e *event) open(now time.Time) bool {
	return e.listed && e.kind != cashDividend && !e.swept && !e.withdrawn && !e.mistake && !now.Before(e.boundary)
}

// units is what the shares in our books become in the brokerage's units.
func (s *firm) units(now time.Time) *big.Rat {
	by := big.NewRat(1, 1)
	for _, e := range []*event{s.event, s.next} {
		if e != nil && e.stock == s && !e.applied && !e.withdrawn && !now.Before(e.at) && e.keep.Sign() > 0 {
			by.Mul(by, e.keep)
		}
	}
	return by
}

// explains reports whether a corporate action that is not applied yet explains a new price: no operator confirms
// one (docs/incidents.md, "Price in doubt").
func (s *firm) explains() bool {
	return s != nil && slices.ContainsFunc([]*event{s.event, s.next}, func(e *event) bool {
		return e != nil && e.stock == s && !e.applied && !e.withdrawn && !e.mistake && !time.Now().Before(e.at)
	})
}

// unclear reports whether the price of a share in our books cannot be known from the brokerage's.
func (s *firm) unclear() bool {
	e := s.event
	return e != nil && (e.mistake || e.stock == s && e.keep.Sign() == 0 || e.announcedWrongly() && !e.swept)
}

// announcedWrongly reports whether the brokerage announces other terms than those that happen: the
// position shows it some seconds later.
func (e *event) announcedWrongly() bool {
	return slices.Contains([]string{"wrong-ratio", "reversed-ratio", "revised"}, e.fault)
}

// cost is the model's cost basis of all that a user holds.
func (c *companies) cost(user rewards.UserID) (sum money.USD) {
	for _, s := range c.list {
		sum += s.held[user].basis
	}
	return sum
}

// users lists who holds or held the stock.
func (s *firm) users() []rewards.UserID {
	return slices.SortedFunc(maps.Keys(s.held), func(a, b rewards.UserID) int { return slices.Compare(a[:], b[:]) })
}

// givable lists the companies whose stocks clients give.
func (c *companies) givable() []*firm {
	list := c.catalogNow()
	return list[:min(len(list), firstCompanies)]
}

// unfinished is how many events have happened, or were entered, and are not over.
func (c *companies) unfinished() (n int) {
	if c == nil {
		return 0
	}
	for _, e := range c.events {
		if (e.stock.event == e || e.stock.next == e) && e.kind != cashDividend || e.kind == cashDividend && !e.withdrawn && !e.swept {
			n++
		}
	}
	return n
}
