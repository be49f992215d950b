// Package faults describes how the paper brokerage misbehaves on request, and decides
// when. What a fault does is up to the code that it strikes: package wire for requests,
// answers and prices, package books for an order's life.
package faults

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"stockrewards/internal/money"
)

// Fault is one way to misbehave. It is written as a line, its kind and then settings:
//
//	lost-answer on=submit chance=5% times=10
//
// docs/paper-brokerage.md lists the kinds and what each setting means for them.
type Fault struct {
	Kind    string        // one of Kinds
	On      []string      // the operations that it strikes, of a kind that strikes requests
	Symbol  string        // strikes only orders, prices and announcements of this stock; empty: of all
	Chance  int64         // probability in millionths; 0: always
	Skip    int           // passes this many candidates first
	Times   int           // strikes this often; 0: no limit
	For     time.Duration // lasts this long by the brokerage's clock; 0: no limit
	By      time.Duration // the delay
	Share   int64         // percent of an order that is filled before it goes wrong
	Status  int           // HTTP status of the answer
	Carried bool          // carries the request out although the answer says otherwise
}

// Parse reads the line of a fault. Its error names the invalid word.
func Parse(line string) (Fault, error) {
	words := strings.Fields(line)
	if len(words) == 0 {
		return Fault{}, fmt.Errorf("empty fault: must begin with one of %s", strings.Join(Kinds(), ", "))
	}
	k, known := kinds()[words[0]]
	if !known {
		return Fault{}, fmt.Errorf("fault %q: must be one of %s", words[0], strings.Join(Kinds(), ", "))
	}
	f := k.defaults
	f.Kind = words[0]
	for _, word := range words[1:] {
		name, value, _ := strings.Cut(word, "=")
		if err := f.set(k.target, name, value); err != nil {
			return Fault{}, fmt.Errorf("fault %s: %q: %w", f.Kind, word, err)
		}
	}
	return f, nil
}

func (f *Fault) set(t target, name, value string) (err error) {
	const most = 1_000_000_000
	switch name {
	case "on":
		f.On, err = parseOperations(t, value)
	case "symbol":
		f.Symbol = value
	case "chance":
		f.Chance, err = parseChance(value)
	case "skip":
		f.Skip, err = parseCount(value, 0, most)
	case "times":
		f.Times, err = parseCount(value, 1, most)
	case "share":
		var n int
		n, err = parseCount(value, 1, 99)
		f.Share = int64(n)
	case "status":
		f.Status, err = parseCount(value, 200, 599)
	case "carried":
		f.Carried, err = strconv.ParseBool(value)
	case "for":
		f.For, err = ParseDuration(value)
	case "by":
		f.By, err = ParseDuration(value)
	default:
		return errors.New("must be on, symbol, chance, skip, times, for, by, share, status or carried")
	}
	return err
}

func parseOperations(t target, value string) ([]string, error) {
	if t != targetRequest {
		return nil, errors.New("this kind does not strike requests")
	}
	on := strings.Split(value, ",")
	for _, op := range on {
		if !slices.Contains(operations(), op) {
			return nil, fmt.Errorf("%q must be one of %s", op, strings.Join(operations(), ", "))
		}
	}
	return on, nil
}

func parseCount(value string, least, most int) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("must be a number from %d to %d", least, most)
	}
	return n, nil
}

// ParseDuration reads a duration that is not negative, such as "1.5s".
func ParseDuration(value string) (time.Duration, error) {
	d, err := time.ParseDuration(value)
	if err != nil || d < 0 {
		return 0, errors.New("must be a duration such as 1.5s, 10m or 4h")
	}
	return d, nil
}

// parseChance reads a percentage, such as "5%" or "0.01%", as millionths.
func parseChance(value string) (int64, error) {
	const perMillionth = 100 // one percent parses as a million
	number, isPercent := strings.CutSuffix(value, "%")
	percent, err := money.ParseUSD(number)
	if err != nil || !isPercent || percent < perMillionth || percent > 100*money.Dollar || percent%perMillionth != 0 {
		return 0, errors.New("must be a percentage such as 5% or 0.01%")
	}
	return int64(percent) / perMillionth, nil
}

// String returns the line of the fault without the settings that have their defaults,
// and an empty string for no fault.
func (f Fault) String() string {
	defaults := kinds()[f.Kind].defaults
	line := f.Kind
	add := func(name string, set bool, value any) {
		if set {
			line += fmt.Sprintf(" %s=%v", name, value)
		}
	}
	add("on", !slices.Equal(f.On, defaults.On), strings.Join(f.On, ","))
	add("symbol", f.Symbol != "", f.Symbol)
	add("chance", f.Chance != 0, money.USD(f.Chance*100).String()+"%")
	add("skip", f.Skip != 0, f.Skip)
	add("times", f.Times != 0, f.Times)
	add("for", f.For != 0, f.For)
	add("by", f.By != defaults.By, f.By)
	add("share", f.Share != defaults.Share, f.Share)
	add("status", f.Status != defaults.Status, f.Status)
	add("carried", f.Carried != defaults.Carried, f.Carried)
	return line
}
