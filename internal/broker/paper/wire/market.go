package wire

import (
	"net/http"
	"strings"
	"time"

	"stockrewards/internal/broker/paper/apierror"
	"stockrewards/internal/broker/paper/exchange"
)

// clock is Alpaca's JSON of the market's clock.
type clock struct {
	Timestamp string `json:"timestamp"`
	IsOpen    bool   `json:"is_open"`
	NextOpen  string `json:"next_open"`
	NextClose string `json:"next_close"`

	// TestClock is not a member of Alpaca's. It declares that the clock was set on
	// purpose, so that the service trusts it, and is missing while the time is real.
	TestClock bool `json:"test_clock,omitzero"`
	// CanJump is not a member of Alpaca's either: this clock can be set at any moment.
	CanJump bool `json:"can_jump"`
}

func (s *Server) getClock(*http.Request) (any, error) {
	now, test := s.now(), s.books.Clock.Test()
	c := s.clock(now)
	c.TestClock, c.CanJump = test != nil, true
	return c, nil
}

func (s *Server) clock(now time.Time) clock {
	session := s.exchange.SessionAt(now)
	c := clock{
		Timestamp: timestamp(s.exchange.Local(now)),
		IsOpen:    session.Contains(now),
		NextOpen:  timestamp(session.Open),
		NextClose: timestamp(session.Close),
	}
	if c.IsOpen {
		c.NextOpen = timestamp(s.exchange.SessionAt(session.Close).Open)
	}
	return c
}

// day is Alpaca's JSON of a trading day, in the exchange's time zone.
type day struct {
	Date           string `json:"date"`
	Open           string `json:"open"`
	Close          string `json:"close"`
	SessionOpen    string `json:"session_open"`
	SessionClose   string `json:"session_close"`
	SettlementDate string `json:"settlement_date"`
}

func (s *Server) getCalendar(r *http.Request) (any, error) {
	const maxYears = 100
	start, end := s.exchange.Date(1970, time.January, 1), s.exchange.Date(2029, time.December, 31)
	for name, date := range map[string]*time.Time{"start": &start, "end": &end} {
		t, err := readTime(r.URL.Query(), name)
		if err != nil {
			return nil, err
		}
		if !t.IsZero() {
			*date = s.exchange.Date(t.Date())
		}
	}
	if end.Year()-start.Year() > maxYears {
		return nil, apierror.Unprocessable("a calendar is limited to %d years", maxYears)
	}
	days := []day{}
	for date := start; !date.After(end); date = exchange.NextDay(date) {
		if session, open := s.exchange.SessionOn(date); open {
			days = append(days, s.day(date, session))
		}
	}
	return days, nil
}

func (s *Server) day(date time.Time, session exchange.Session) day {
	d := day{
		Date: date.Format(time.DateOnly), Open: session.Open.Format("15:04"), Close: session.Close.Format("15:04"),
		SessionOpen: "0400", SessionClose: "2000",
		SettlementDate: s.exchange.SessionAt(session.Close).Open.Format(time.DateOnly), // the next trading day
	}
	if !s.exchange.Closes() {
		d.SessionOpen, d.SessionClose = "0000", "0000"
	}
	return d
}

type asset struct {
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

// The statuses of an asset.
const (
	assetActive   = "active"
	assetInactive = "inactive"
)

func newAsset(l *exchange.Listing) asset {
	status := assetActive
	if l.Gone {
		status = assetInactive
	}
	return asset{
		ID: l.ID, Class: assetClass, Exchange: l.Exchange, Symbol: l.Symbol, Name: l.Name, Status: status,
		Tradable: !l.NotTradable, Fractionable: !l.NotFractionable, BorrowStatus: "hard_to_borrow",
		MarginLong: "100", MarginShort: "100", MaintenanceMargin: 100, Attributes: []string{},
	}
}

func (s *Server) getAssets(r *http.Request) (any, error) {
	q := r.URL.Query()
	list := []asset{}
	status, class, name := q.Get("status"), q.Get("asset_class"), q.Get("exchange")
	if class != "" && class != assetClass {
		return list, nil
	}
	for _, l := range s.exchange.Listings() {
		a := newAsset(l)
		if (name == "" || name == a.Exchange) && (status == "" || status == "all" || status == a.Status) {
			list = append(list, a)
		}
	}
	return list, nil
}

func (s *Server) getAsset(r *http.Request) (any, error) {
	name := r.PathValue("asset")
	l := s.exchange.Find(name)
	if l == nil {
		return nil, apierror.NotFound("asset not found for %s", strings.ToUpper(name))
	}
	return newAsset(l), nil
}
