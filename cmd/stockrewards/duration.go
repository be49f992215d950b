package main

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// durationsWithDays makes flags accept days of 24 hours, too: 90d, or 1d12h.
func durationsWithDays() kong.Option {
	mapper := func(ctx *kong.DecodeContext, target reflect.Value) error {
		var text string
		if err := ctx.Scan.PopValueInto("duration", &text); err != nil {
			return err
		}
		d, err := parseDuration(text)
		target.SetInt(int64(d))
		return err
	}
	return kong.TypeMapper(reflect.TypeFor[time.Duration](), kong.MapperFunc(mapper))
}

// parseDuration parses a duration of Go, which may begin with a number of days.
func parseDuration(text string) (time.Duration, error) {
	const day, mostDays = 24 * time.Hour, 100 * 365
	wrong := fmt.Errorf("%q: must be a duration with units, such as 30s, 12h, 90d or 1d12h", text)
	long := fmt.Errorf("%q: must be at most %dd", text, mostDays)
	digits, rest, hasDays := strings.Cut(text, "d")
	if !hasDays {
		digits, rest = "0", text
	}
	days, err := strconv.ParseUint(digits, 10, 32)
	switch {
	case errors.Is(err, strconv.ErrRange) || days > mostDays:
		return 0, long
	case err != nil:
		return 0, wrong
	case rest == "" && hasDays:
		return time.Duration(days) * day, nil
	}
	d, err := time.ParseDuration(rest)
	switch {
	case err != nil || hasDays && d < 0:
		return 0, wrong
	case d > mostDays*day-time.Duration(days)*day:
		return 0, long
	}
	return time.Duration(days)*day + d, nil
}
