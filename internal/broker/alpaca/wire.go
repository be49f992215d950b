package alpaca

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"stockrewards/internal/money"
)

var (
	errMissing  = errors.New("missing value")
	errNegative = errors.New("must not be negative")
	errEmpty    = errors.New("no JSON value")
	errNoList   = errors.New("not a list")
	errMore     = errors.New("unexpected data after the list")
)

// lax is how a list is split into its entries. Odd strings and repeated members are the problem of one entry.
func lax() json.Options {
	return json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
}

// object returns a function that decodes an answer with one JSON value, and reads it.
func object[W, T any](read func(W) (T, error)) func(body []byte) (T, error) {
	return func(body []byte) (answer T, err error) {
		var decoded W
		if err := decode(body, &decoded); err != nil {
			return answer, err
		}
		return read(decoded)
	}
}

// list returns a function that splits an answer with a list of at most this number of entries, and reads them.
func list[T any](most int, read func([]jsontext.Value) (T, error)) func(body []byte) (T, error) {
	return func(body []byte) (answer T, err error) {
		d := jsontext.NewDecoder(bytes.NewBuffer(body), lax())
		raw, err := entries(d, most)
		if err != nil {
			return answer, err
		}
		if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
			return answer, errMore
		}
		return read(raw)
	}
}

// entries splits the next value of a decoder, a list. It stops at the first entry that is one too many: a small answer
// may unpack to millions of them.
func entries(d *jsontext.Decoder, most int) ([]jsontext.Value, error) {
	if d.PeekKind() != jsontext.KindBeginArray {
		return nil, errNoList
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	raw := []jsontext.Value{}
	for d.PeekKind() != jsontext.KindEndArray {
		if len(raw) == most {
			return nil, tooMany(most)
		}
		value, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		raw = append(raw, value.Clone())
	}
	_, err := d.ReadToken()
	return raw, err
}

func tooMany(most int) error { return fmt.Errorf("more than %d entries", most) }

// decode reads exactly one JSON value, which must not be null: null would pass for an empty list.
func decode(body []byte, into any) error {
	if len(body) == 0 || jsontext.Value(body).Kind() == jsontext.KindNull {
		return errEmpty
	}
	return json.Unmarshal(body, into)
}

// number is a quantity as written, so that no digit is lost. The trading API writes a JSON string,
// the market data API a JSON number. It is "" for null and for a missing member.
type number string

// UnmarshalJSON reads a number, a string or null.
func (n *number) UnmarshalJSON(raw []byte) error {
	kind := jsontext.Value(raw).Kind()
	if kind == jsontext.KindString {
		text, err := jsontext.AppendUnquote(nil, raw)
		*n = number(text)
		return err
	}
	*n = "?" // not a number: parsing it fails
	if kind == jsontext.KindNumber {
		*n = number(raw)
	}
	if kind == jsontext.KindNull {
		*n = ""
	}
	return nil
}

func (n number) usd() (money.USD, error) { return notNegative(money.ParseUSD, n) }

func (n number) shares() (money.Shares, error) { return notNegative(money.ParseShares, n) }

func (n number) price() (money.Price, error) { return notNegative(money.ParsePrice, n) }

func notNegative[Q ~int64](parse func(string) (Q, error), n number) (Q, error) {
	if n == "" {
		return 0, errMissing
	}
	q, err := parse(string(n))
	if err == nil && q < 0 {
		err = errNegative
	}
	if err != nil {
		return 0, err
	}
	return q, nil
}

// roundedUSD reads an amount that may have more decimals than money.USD, such as the buying power.
func (n number) roundedUSD() (money.USD, error) {
	if n == "" {
		return 0, errMissing
	}
	d, err := money.ParseDecimal(string(n))
	if err != nil {
		return 0, err
	}
	return d.USD()
}

// instant reads a time in RFC 3339, with up to nine decimals of a second; "" is the zero time.
func instant(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}, errors.New("not a time")
	}
	return t.UTC(), nil
}
