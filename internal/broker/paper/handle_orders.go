package paper

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// wireOrder is an order as Alpaca writes one.
type wireOrder struct {
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

// toWire is the order as it looks at that time.
func (o *order) toWire(now time.Time) wireOrder {
	w := wireOrder{
		ID: o.id, ClientOrderID: o.clientOrderID, Symbol: o.symbol, Side: o.side,
		AssetID: AssetID(o.symbol), AssetClass: "us_equity",
		OrderType: "market", Type: "market", TimeInForce: "day",
		PositionIntent: "buy_to_open",
		CreatedAt:      timestamp(o.submittedAt),
		SubmittedAt:    timestamp(o.submittedAt),
		UpdatedAt:      timestamp(o.updatedAt),
		FilledAt:       optionalTimestamp(o.filledAt), ExpiresAt: optionalTimestamp(o.expiresAt),
		Notional: optionalText(o.notional), Qty: optionalText(o.qty),
		FilledQty: o.filledQty.String(), FilledAvgPrice: optionalText(o.filledPrice),
		Status: o.status(now),
	}
	if o.side == sideSell {
		w.PositionIntent = "sell_to_close"
	}
	ended := optionalTimestamp(o.endedAt)
	switch o.state {
	case stateCanceled:
		w.CanceledAt = ended
	case stateExpired:
		w.ExpiredAt = ended
	case stateRejected:
		w.FailedAt = ended
	case stateOpen, stateFilled:
	}
	return w
}

// tell is what the brokerage tells of an order: the truth, unless its fate is that
// something else is told.
func (b *Brokerage) tell(o *order, now time.Time) wireOrder { return b.disguise(o, o.toWire(now), now) }

func (b *Brokerage) postOrder(r *http.Request) (any, error) {
	body, err := readRequest(r)
	if err != nil {
		return nil, err
	}
	t, err := readTicket(body)
	if err != nil {
		return nil, err
	}
	now := b.clock.micros()
	o, err := b.submit(r.Context(), t, now)
	if err != nil {
		return nil, err
	}
	return b.tell(o, now), nil
}

func (b *Brokerage) getOrders(r *http.Request) (any, error) {
	f, err := readFilter(r.URL.Query())
	if err != nil {
		return nil, err
	}
	now := b.clock.micros()
	if err := b.progress(r.Context(), now); err != nil {
		return nil, err
	}
	list, err := b.listOrders(r.Context(), f, now)
	if err != nil {
		return nil, err
	}
	wire := make([]wireOrder, len(list))
	for i, o := range list {
		wire[i] = b.tell(o, now)
	}
	return wire, nil
}

func (b *Brokerage) getOrder(r *http.Request) (any, error) {
	now := b.clock.micros()
	if err := b.progress(r.Context(), now); err != nil {
		return nil, err
	}
	o, err := b.orderByID(r.Context(), r.PathValue("id"), now)
	if err != nil {
		return nil, err
	}
	return b.tell(o, now), nil
}

func (b *Brokerage) getOrderByClientID(r *http.Request) (any, error) {
	id := r.URL.Query().Get("client_order_id")
	if id == "" {
		return nil, unprocessable("client_order_id is required")
	}
	now := b.clock.micros()
	if err := b.progress(r.Context(), now); err != nil {
		return nil, err
	}
	o, err := b.orderByClientID(r.Context(), id, now)
	if err != nil {
		return nil, err
	}
	return b.tell(o, now), nil
}

func (b *Brokerage) deleteOrder(r *http.Request) (any, error) {
	now := b.clock.micros()
	if err := b.progress(r.Context(), now); err != nil {
		return nil, err
	}
	return nil, b.cancel(r.Context(), r.PathValue("id"), now)
}

// readFilter reads the query of a list of orders.
func readFilter(q url.Values) (orderFilter, error) {
	f := orderFilter{descending: true, limit: defaultOrders, side: q.Get("side")}
	switch status := q.Get("status"); status {
	case "", "open":
		f.open = true
	case "closed":
		f.closed = true
	case "all":
		f.open, f.closed = true, true
	default:
		return f, unprocessable("invalid status %q", status)
	}
	switch direction := q.Get("direction"); direction {
	case "", "desc":
	case "asc":
		f.descending = false
	default:
		return f, unprocessable("invalid direction %q", direction)
	}
	if text := q.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxOrders {
			return f, unprocessable("limit must be between 1 and %d", maxOrders)
		}
		f.limit = n
	}
	if text := q.Get("symbols"); text != "" {
		f.symbols = "," + strings.ToUpper(text) + ","
	}
	var err error
	if f.after, err = readInstant(q, "after"); err != nil {
		return f, err
	}
	f.until, err = readInstant(q, "until")
	return f, err
}

// readInstant reads a parameter that is a time or a date, zero when it is missing.
func readInstant(q url.Values, name string) (time.Time, error) {
	text := q.Get(name)
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, unprocessable("invalid %s %q", name, text)
}

func timestamp(t time.Time) string { return t.Format(time.RFC3339Nano) }

func optionalTimestamp(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := timestamp(t)
	return &text
}

// optionalText is a quantity as text, null for zero.
func optionalText[Q quantity](q Q) *string {
	if q == 0 {
		return nil
	}
	text := q.String()
	return &text
}

// quantity is one of money's.
type quantity interface {
	~int64
	String() string
}
