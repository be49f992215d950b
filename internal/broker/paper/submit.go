package paper

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"stockrewards/internal/money"
)

// The limits of an order.
const (
	maxClientOrderID = 128 // characters
	minNotional      = money.Dollar
)

// The time from the market's getting an order to its fill.
const (
	minFillTime = 80 * time.Millisecond
	maxFillTime = 250 * time.Millisecond
)

// quantityHeadroom is how much more than today's price a buy by quantity holds, in
// percent, because its price is not known yet.
const quantityHeadroom = 10

// ticket is what an order asks for, its form checked.
type ticket struct {
	symbol        string // or asset id
	side          string
	notional      money.USD    // 0 when by quantity
	qty           money.Shares // 0 when by dollars
	clientOrderID string       // empty when the brokerage is to make one
}

// readTicket reads the body of an order. Members that don't matter to a market
// order may be there, as null or empty too.
func readTicket(body []byte) (ticket, error) {
	var w struct {
		Symbol        string         `json:"symbol"`
		Qty           jsontext.Value `json:"qty"`
		Notional      jsontext.Value `json:"notional"`
		Side          string         `json:"side"`
		Type          string         `json:"type"`
		TimeInForce   string         `json:"time_in_force"`
		OrderClass    string         `json:"order_class"`
		ExtendedHours bool           `json:"extended_hours"`
		ClientOrderID string         `json:"client_order_id"`
	}
	if err := json.Unmarshal(body, &w); err != nil {
		return ticket{}, badRequest("request body format is invalid")
	}
	t := ticket{symbol: w.Symbol, side: w.Side, clientOrderID: w.ClientOrderID}
	switch {
	case w.Symbol == "":
		return t, unprocessable("symbol is required")
	case w.Side != sideBuy && w.Side != sideSell:
		return t, unprocessable("invalid side")
	case w.Type != "market":
		return t, unprocessable("only market orders are supported by this paper brokerage")
	case w.OrderClass != "" && w.OrderClass != "simple":
		return t, unprocessable("only simple orders are supported by this paper brokerage")
	case w.ExtendedHours:
		return t, unprocessable("extended hours order must be DAY limit orders")
	case utf8.RuneCountInString(w.ClientOrderID) > maxClientOrderID:
		return t, unprocessable("client_order_id must be no more than %d characters", maxClientOrderID)
	}
	if err := t.readAmounts(w.Notional, w.Qty); err != nil {
		return t, err
	}
	return t, t.checkTime(w.TimeInForce)
}

// checkTime refuses orders that are not for the day. Alpaca takes those of whole shares,
// this brokerage does not.
func (t ticket) checkTime(inForce string) error {
	whole := t.notional == 0 && t.qty%money.Share == 0
	switch {
	case inForce == "day":
		return nil
	case !slices.Contains([]string{"gtc", "opg", "cls", "ioc", "fok"}, inForce):
		return unprocessable("invalid time_in_force")
	case whole:
		return unprocessable("only day orders are supported by this paper brokerage")
	}
	return unprocessable("fractional orders must be DAY orders")
}

// readAmounts reads the dollars or the quantity: exactly one of them must be told.
func (t *ticket) readAmounts(notionalValue, qtyValue jsontext.Value) error {
	notional, notionalTold := decimalText(notionalValue)
	qty, qtyTold := decimalText(qtyValue)
	switch {
	case notionalTold && qtyTold:
		return unprocessable("only one of qty or notional is accepted")
	case notionalTold:
		return t.readNotional(notional)
	case qtyTold:
		return t.readQty(qty)
	}
	return unprocessable("qty or notional is required")
}

func (t *ticket) readNotional(text string) error {
	amount, err := money.ParseUSD(text)
	switch {
	case errors.Is(err, money.ErrPrecision), err == nil && amount%money.Cent != 0:
		return unprocessable("notional value must be limited to 2 decimal places")
	case err != nil:
		return unprocessable("notional is invalid: %s", err)
	case amount < minNotional:
		return tooSmall()
	}
	t.notional = amount
	return nil
}

func (t *ticket) readQty(text string) error {
	qty, err := money.ParseShares(text)
	switch {
	case errors.Is(err, money.ErrPrecision):
		return unprocessable("qty must be limited to 9 decimal places")
	case err != nil:
		return unprocessable("qty is invalid: %s", err)
	case qty <= 0:
		return unprocessable("qty must be > 0")
	}
	t.qty = qty
	return nil
}

func tooSmall() *apiError { return unprocessable("notional amount must be >= 1.00") }

// decimalText is the text of a number, written as one or as a string, and whether
// there is any: null and "" are none.
func decimalText(v jsontext.Value) (string, bool) {
	kind := v.Kind()
	switch {
	case kind == jsontext.KindNumber:
		return string(v), true
	case kind == jsontext.KindString:
		text, err := jsontext.AppendUnquote(nil, v)
		return string(text), err == nil && len(text) > 0
	case kind == jsontext.KindNull, len(v) == 0:
		return "", false
	default:
		return "?", true // unreadable, as its parser will say
	}
}

// submit accepts an order or refuses it, with the books brought up to date. Sent a
// second time, the same client order id is refused whatever else has changed,
// before anything else is looked at.
func (b *Brokerage) submit(ctx context.Context, t ticket, now time.Time) (*order, error) {
	id, err := b.ids.next()
	if err != nil {
		return nil, err
	}
	if t.clientOrderID == "" {
		if t.clientOrderID, err = b.ids.next(); err != nil {
			return nil, err
		}
	}
	var o *order
	err = b.books.update(ctx, func(tx *sql.Tx) error {
		for more := true; more; {
			if more, err = b.settleDue(ctx, tx, now); err != nil {
				return err
			}
		}
		last, err := lastSubmission(ctx, tx, t.clientOrderID)
		if err != nil {
			return err
		}
		l, err := b.tradable(t)
		if err != nil {
			return err
		}
		o = b.newOrder(id, l.Symbol, t, now)
		o.submittedAt = submissionTime(now, last)
		if err := b.hold(ctx, tx, o, l, now); err != nil {
			return err
		}
		if err := insertOrder(ctx, tx, o); err != nil || o.fate.Kind != reject {
			return err
		}
		o, err = b.rejectAtOnce(ctx, tx, o, now)
		return err
	})
	return o, err
}

// lastSubmission is when the last order was accepted, zero when none was. It fails
// when the client order id has been used.
func lastSubmission(ctx context.Context, tx *sql.Tx, clientOrderID string) (time.Time, error) {
	var used bool
	var last sql.NullInt64
	err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM orders WHERE client_order_id = ?1),
		(SELECT submitted_at FROM orders ORDER BY seq DESC LIMIT 1)`, clientOrderID).Scan(&used, &last)
	if err == nil && used {
		err = duplicateOrder()
	}
	return optionalTime(last), err
}

// submissionTime is now, or a microsecond after the last order's when that was no
// earlier: orders accepted in one instant still have an order in time, so that
// lists can be paged by it. A clock that was set back is believed.
func submissionTime(now, last time.Time) time.Time {
	const sameInstant = time.Second
	if !now.After(last) && last.Sub(now) < sameInstant {
		return last.Add(time.Microsecond)
	}
	return now
}

// tradable is the listing that the ticket names, when an order like it can be
// taken.
func (b *Brokerage) tradable(t ticket) (*listing, error) {
	l := b.market.find(t.symbol)
	switch {
	case l == nil:
		return nil, unprocessable("asset %q not found", t.symbol)
	case l.NotTradable:
		return nil, unprocessable("asset %q is not tradable", l.Symbol)
	case l.NotFractionable && t.qty%money.Share != 0, l.NotFractionable && t.notional != 0:
		return nil, forbidden("asset %q is not fractionable", l.Symbol)
	}
	return l, nil
}

// newOrder decides when the order reaches the market and when it falls due.
func (b *Brokerage) newOrder(id, symbol string, t ticket, now time.Time) *order {
	o := &order{
		id: id, clientOrderID: t.clientOrderID, symbol: symbol, side: t.side,
		notional: t.notional, qty: t.qty, state: stateOpen,
		submittedAt: now, updatedAt: now, routedAt: now, hiddenUntil: fromMicros(0),
	}
	s := b.market.at(now)
	if now.Before(s.open) {
		o.routedAt = s.open.UTC()
	}
	if b.market.hours != AlwaysOpen {
		o.expiresAt = s.close.UTC()
	}
	o.fate, _ = b.faults.strike(groupOrder, "", func() string { return symbol }, now)
	if f, hidden := b.faults.strike(groupHide, "", func() string { return symbol }, now); hidden {
		o.hiddenUntil = now.Add(f.By)
	}
	due := o.fate.firstDue(fillTime(b.books.seed, id), !o.expiresAt.IsZero())
	o.dueAt = o.routedAt.Add(due)
	if !o.expiresAt.IsZero() && (due == 0 || o.expiresAt.Before(o.dueAt)) {
		o.dueAt = o.expiresAt
	}
	return o
}

// rejectAtOnce ends an order that has just been accepted.
func (b *Brokerage) rejectAtOnce(ctx context.Context, tx *sql.Tx, o *order, now time.Time) (*order, error) {
	const byID = "SELECT " + orderColumns + " FROM orders WHERE id = ?1"
	stored, err := scanOrder(tx.QueryRowContext(ctx, byID, o.id))
	if err != nil {
		return nil, err
	}
	if err := end(ctx, tx, stored, stateRejected, now); err != nil {
		return nil, err
	}
	return scanOrder(tx.QueryRowContext(ctx, byID, o.id))
}

// fillTime is how long the market takes to fill the order, to the microsecond.
func fillTime(seed uint64, id string) time.Duration {
	h := mix(seed)
	for _, c := range []byte(id) {
		h = mix(h ^ uint64(c))
	}
	const span = uint64((maxFillTime - minFillTime) / time.Microsecond)
	return minFillTime + time.Duration(h%(span+1))*time.Microsecond
}

// hold sets aside what the order needs, or refuses it when that is not there.
func (b *Brokerage) hold(ctx context.Context, tx *sql.Tx, o *order, l *listing, now time.Time) error {
	price := b.market.price(l, b.market.moment(now).of(b.market, l).trade)
	if o.side == sideSell {
		return holdShares(ctx, tx, o, price)
	}
	o.hold = o.notional
	if o.qty > 0 {
		value, err := money.Value(o.qty, price, money.Down)
		if err == nil && value < minNotional {
			return tooSmall()
		}
		if err == nil {
			o.hold, err = money.AddUSD(value, value/100*quantityHeadroom)
		}
		if err != nil {
			return unprocessable("qty is too large")
		}
	}
	return holdDollars(ctx, tx, o)
}

func holdDollars(ctx context.Context, tx *sql.Tx, o *order) error {
	f, err := readFunds(ctx, tx)
	if err != nil {
		return err
	}
	if o.hold > f.buyingPower() {
		e := forbidden("insufficient buying power")
		e.more = []member{{"buying_power", f.buyingPower().String()}, {"cost_basis", o.hold.String()}}
		return e
	}
	_, err = tx.ExecContext(ctx, "UPDATE account SET held = held + ?1", int64(o.hold))
	return err
}

func holdShares(ctx context.Context, tx *sql.Tx, o *order, price money.Price) error {
	p, err := readPosition(ctx, tx, o.symbol)
	if err != nil {
		return err
	}
	held, err := readHeldShares(ctx, tx, o.symbol)
	if err != nil {
		return err
	}
	o.holdQty = o.qty
	if o.notional > 0 {
		if o.holdQty, err = money.SharesFor(o.notional, price); err != nil {
			return unprocessable("notional is too large")
		}
	}
	available := p.qty - held
	if o.holdQty > available {
		e := forbidden("insufficient qty available for order (requested: %s, available: %s)",
			o.holdQty, available)
		e.more = []member{
			{"available", available.String()},
			{"existing_qty", p.qty.String()},
			{"held_for_orders", held.String()},
			{"symbol", o.symbol},
		}
		return e
	}
	return nil
}

func insertOrder(ctx context.Context, tx *sql.Tx, o *order) error {
	fate := ""
	if o.fate.Kind != "" {
		fate = o.fate.String()
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO orders
		(id, client_order_id, symbol, side, notional, qty, state, hold, hold_qty,
		submitted_at, routed_at, expires_at, due_at, updated_at, hidden_until, fate)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)`,
		o.id, o.clientOrderID, o.symbol, o.side, nullQuantity(o.notional), nullQuantity(o.qty),
		string(o.state), int64(o.hold), int64(o.holdQty),
		o.submittedAt.UnixMicro(), o.routedAt.UnixMicro(),
		nullMicros(o.expiresAt), nullMicros(o.dueAt), o.updatedAt.UnixMicro(),
		o.hiddenUntil.UnixMicro(), fate)
	return err
}
