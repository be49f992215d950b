package paper

import (
	"net/http"
	"strings"
	"time"
)

// maxCalendarYears bounds a calendar.
const maxCalendarYears = 100

// wireClock is the market's clock as Alpaca writes one.
type wireClock struct {
	Timestamp string `json:"timestamp"`
	IsOpen    bool   `json:"is_open"`
	NextOpen  string `json:"next_open"`
	NextClose string `json:"next_close"`

	// TestClock is no member of Alpaca's: it declares that the clock was set on purpose,
	// so that the service does not refuse it. It is missing while the time is the real one.
	TestClock bool `json:"test_clock,omitzero"`
}

func (b *Brokerage) getClock(*http.Request) (any, error) {
	now, test := b.Now()
	w := b.wireClock(now)
	w.TestClock = test != nil
	return w, nil
}

func (b *Brokerage) wireClock(now time.Time) wireClock {
	s := b.market.at(now)
	w := wireClock{
		Timestamp: timestamp(now.In(b.market.zone)),
		IsOpen:    s.contains(now),
		NextOpen:  timestamp(s.open),
		NextClose: timestamp(s.close),
	}
	if w.IsOpen {
		w.NextOpen = timestamp(b.market.at(s.close).open)
	}
	return w
}

// wireDay is a trading day as Alpaca writes one, in the exchange's local time.
type wireDay struct {
	Date           string `json:"date"`
	Open           string `json:"open"`
	Close          string `json:"close"`
	SessionOpen    string `json:"session_open"`
	SessionClose   string `json:"session_close"`
	SettlementDate string `json:"settlement_date"`
}

func (b *Brokerage) getCalendar(r *http.Request) (any, error) {
	start := time.Date(1970, time.January, 1, 0, 0, 0, 0, b.market.zone)
	end := time.Date(2029, time.December, 31, 0, 0, 0, 0, b.market.zone)
	for name, day := range map[string]*time.Time{"start": &start, "end": &end} {
		t, err := readInstant(r.URL.Query(), name)
		if err != nil {
			return nil, err
		}
		if !t.IsZero() {
			*day = time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, b.market.zone)
		}
	}
	if end.Year()-start.Year() > maxCalendarYears {
		return nil, unprocessable("a calendar is limited to %d years", maxCalendarYears)
	}
	days := []wireDay{}
	for day := start; !day.After(end); day = nextDay(day) {
		if s, ok := b.market.on(day); ok {
			days = append(days, b.wireDay(day, s))
		}
	}
	return days, nil
}

func (b *Brokerage) wireDay(day time.Time, s session) wireDay {
	w := wireDay{
		Date: day.Format(time.DateOnly), Open: s.open.Format("15:04"), Close: s.close.Format("15:04"),
		SessionOpen: "0400", SessionClose: "2000",
		SettlementDate: b.market.at(s.close).open.Format(time.DateOnly), // the next trading day
	}
	if b.market.hours == AlwaysOpen {
		w.SessionOpen, w.SessionClose = "0000", "0000"
	}
	return w
}

// wireAsset is an asset as Alpaca writes one.
type wireAsset struct {
	ID                string   `json:"id"`
	Class             string   `json:"class"`
	Exchange          string   `json:"exchange"`
	Symbol            string   `json:"symbol"`
	Name              string   `json:"name"`
	Status            string   `json:"status"`
	Tradable          bool     `json:"tradable"`
	Marginable        bool     `json:"marginable"` //nolint:misspell // Alpaca's word
	Shortable         bool     `json:"shortable"`
	EasyToBorrow      bool     `json:"easy_to_borrow"`
	BorrowStatus      string   `json:"borrow_status"`
	Fractionable      bool     `json:"fractionable"`
	MarginLong        string   `json:"margin_requirement_long"`
	MarginShort       string   `json:"margin_requirement_short"`
	MaintenanceMargin int      `json:"maintenance_margin_requirement"`
	Attributes        []string `json:"attributes"`
}

func (l *listing) toWire() wireAsset {
	return wireAsset{
		ID: l.id, Class: "us_equity", Exchange: l.Exchange, Symbol: l.Symbol, Name: l.Name, Status: "active",
		Tradable: !l.NotTradable, Fractionable: !l.NotFractionable, BorrowStatus: "hard_to_borrow",
		MarginLong: "100", MarginShort: "100", MaintenanceMargin: 100, Attributes: []string{},
	}
}

func (b *Brokerage) getAssets(r *http.Request) (any, error) {
	q := r.URL.Query()
	list := []wireAsset{}
	status, class, exchange := q.Get("status"), q.Get("asset_class"), q.Get("exchange")
	if status == "inactive" || class != "" && class != "us_equity" {
		return list, nil
	}
	for _, l := range b.market.listings {
		if exchange == "" || exchange == l.Exchange {
			list = append(list, l.toWire())
		}
	}
	return list, nil
}

func (b *Brokerage) getAsset(r *http.Request) (any, error) {
	name := r.PathValue("asset")
	l := b.market.find(name)
	if l == nil {
		return nil, notFound("asset not found for %s", strings.ToUpper(name))
	}
	return l.toWire(), nil
}
