package wire

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"stockrewards/internal/broker/paper/apierror"
	"stockrewards/internal/broker/paper/books"
	"stockrewards/internal/broker/paper/exchange"
	"stockrewards/internal/broker/paper/faults"
	"stockrewards/internal/money"
)

// assetClass is the class of all assets.
const assetClass = "us_equity"

type order struct {
	ID             string  `json:"id"`
	ClientOrderID  string  `json:"client_order_id"`
	CreatedAt      string  `json:"created_at"`
	UpdatedAt      string  `json:"updated_at"`
	SubmittedAt    string  `json:"submitted_at"`
	FilledAt       *string `json:"filled_at"`
	ExpiredAt      *string `json:"expired_at"`
	CanceledAt     *string `json:"canceled_at"`
	FailedAt       *string `json:"failed_at"`
	ReplacedAt     *string `json:"replaced_at"`
	ReplacedBy     *string `json:"replaced_by"`
	Replaces       *string `json:"replaces"`
	AssetID        string  `json:"asset_id"`
	Symbol         string  `json:"symbol"`
	AssetClass     string  `json:"asset_class"`
	Notional       *string `json:"notional"`
	Qty            *string `json:"qty"`
	FilledQty      string  `json:"filled_qty"`
	FilledAvgPrice *string `json:"filled_avg_price"`
	OrderClass     string  `json:"order_class"`
	OrderType      string  `json:"order_type"`
	Type           string  `json:"type"`
	Side           string  `json:"side"`
	PositionIntent string  `json:"position_intent"`
	TimeInForce    string  `json:"time_in_force"`
	LimitPrice     *string `json:"limit_price"`
	StopPrice      *string `json:"stop_price"`
	Status         string  `json:"status"`
	ExtendedHours  bool    `json:"extended_hours"`
	Legs           *string `json:"legs"`
	TrailPercent   *string `json:"trail_percent"`
	TrailPrice     *string `json:"trail_price"`
	Hwm            *string `json:"hwm"`
	Subtag         *string `json:"subtag"`
	Source         *string `json:"source"`
	ExpiresAt      *string `json:"expires_at,omitzero"`
}

// actual returns the order as the books have it.
func actual(o *books.Order, now time.Time) order {
	w := order{
		ID: o.ID, ClientOrderID: o.ClientOrderID, Symbol: o.Symbol, Side: o.Side,
		AssetID: o.AssetID, AssetClass: assetClass,
		OrderType: "market", Type: "market", TimeInForce: "day",
		PositionIntent: "buy_to_open",
		CreatedAt:      timestamp(o.SubmittedAt),
		SubmittedAt:    timestamp(o.SubmittedAt),
		UpdatedAt:      timestamp(o.UpdatedAt),
		FilledAt:       optionalTimestamp(o.FilledAt), ExpiresAt: optionalTimestamp(o.ExpiresAt),
		Notional: optionalQuantity(o.Notional), Qty: optionalQuantity(o.Qty),
		FilledQty: o.FilledQty.String(), FilledAvgPrice: optionalQuantity(o.FilledPrice),
		Status: o.Status(now),
	}
	if o.Side == books.SideSell {
		w.PositionIntent = "sell_to_close"
	}
	ended := optionalTimestamp(o.EndedAt)
	switch o.State { //nolint:exhaustive // the others have no time of their own
	case books.StateCanceled:
		w.CanceledAt = ended
	case books.StateExpired:
		w.ExpiredAt = ended
	case books.StateRejected:
		w.FailedAt = ended
	}
	return w
}

// absurdity is the factor of an absurd price.
const absurdity = 1_000

func absurd(p money.Price) money.Price { return min(p, exchange.MaxPrice/absurdity) * absurdity }

// reported returns the order as the brokerage answers: as in the books, or as its fate
// falsifies it.
func (s *Server) reported(o *books.Order, now time.Time) order {
	w := actual(o, now)
	switch o.Fate.Kind {
	case faults.FillAfterCancel:
		canceled := o.DueAt.Add(-o.Fate.By)
		if o.State == books.StateOpen && !now.Before(canceled) {
			w.Status, w.CanceledAt = string(books.StateCanceled), optionalTimestamp(canceled)
		}
	case faults.ShrinkingFill:
		if o.State == books.StateCanceled {
			w.FilledQty = (o.FilledQty / 2).String() //nolint:mnd // half
		}
	case faults.WrongSymbol:
		w.Symbol, w.AssetID = s.otherSymbol(o.Symbol)
	case faults.WrongSide:
		if w.Side = books.SideSell; o.Side == books.SideSell {
			w.Side = books.SideBuy
		}
	case faults.WrongNotional:
		w.Notional = optionalQuantity(o.Notional + money.Cent)
	case faults.UnknownStatus:
		w.Status = "hibernating"
	case faults.ZeroPrice:
		if o.FilledQty > 0 {
			w.FilledAvgPrice = new("0")
		}
	case faults.AbsurdPrice:
		w.FilledAvgPrice = optionalQuantity(absurd(o.FilledPrice))
	}
	return w
}

// otherSymbol returns another stock's symbol and asset id.
func (s *Server) otherSymbol(symbol string) (other, assetID string) {
	for _, l := range s.exchange.Listings() {
		if l.Symbol != symbol {
			return l.Symbol, l.ID
		}
	}
	return "WRONG", exchange.AssetID("WRONG")
}

func (s *Server) postOrder(r *http.Request) (any, error) {
	body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	t, err := readTicket(body)
	if err != nil {
		return nil, err
	}
	now := s.now()
	o, err := s.books.Submit(r.Context(), t, now)
	if err != nil {
		return nil, err
	}
	return s.reported(o, now), nil
}

func (s *Server) getOrders(r *http.Request) (any, error) {
	f, err := readOrderFilter(r.URL.Query())
	if err != nil {
		return nil, err
	}
	now := s.now()
	orders, err := s.books.Orders(r.Context(), f, now)
	list := make([]order, len(orders))
	for i, o := range orders {
		list[i] = s.reported(o, now)
	}
	return list, err
}

func (s *Server) getOrder(r *http.Request) (any, error) {
	return s.lookUp(r, s.books.Order, r.PathValue("id"))
}

func (s *Server) getOrderByClientID(r *http.Request) (any, error) {
	id := r.URL.Query().Get("client_order_id")
	if id == "" {
		return nil, apierror.Unprocessable("client_order_id is required")
	}
	return s.lookUp(r, s.books.OrderByClientID, id)
}

// finder is a method of the books that looks up an order.
type finder func(ctx context.Context, id string, now time.Time) (*books.Order, error)

func (s *Server) lookUp(r *http.Request, find finder, id string) (any, error) {
	now := s.now()
	o, err := find(r.Context(), id, now)
	if err != nil {
		return nil, err
	}
	return s.reported(o, now), nil
}

func (s *Server) deleteOrder(r *http.Request) (any, error) {
	return nil, s.books.Cancel(r.Context(), r.PathValue("id"), s.now())
}

func readOrderFilter(q url.Values) (books.OrderFilter, error) {
	const usual, limit = 50, 500
	f := books.OrderFilter{Descending: true, Side: q.Get("side")}
	switch status := q.Get("status"); status {
	case "", "open":
		f.Open = true
	case "closed":
		f.Closed = true
	case "all":
		f.Open, f.Closed = true, true
	default:
		return f, apierror.Unprocessable("invalid status %q", status)
	}
	switch direction := q.Get("direction"); direction {
	case "", "desc":
	case "asc":
		f.Descending = false
	default:
		return f, apierror.Unprocessable("invalid direction %q", direction)
	}
	var valid bool
	if f.Limit, valid = readLimit(q, "limit", usual, limit); !valid {
		return f, apierror.Unprocessable("limit must be between 1 and %d", limit)
	}
	if symbols := q.Get("symbols"); symbols != "" {
		f.Symbols = "," + strings.ToUpper(symbols) + ","
	}
	var err error
	if f.After, err = readTime(q, "after"); err != nil {
		return f, err
	}
	f.Until, err = readTime(q, "until")
	return f, err
}
