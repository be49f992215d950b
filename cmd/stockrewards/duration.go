package main

import (
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
	const day, most = 24 * time.Hour, 100 * 365 // most in days
	wrong := fmt.Errorf("%q: must be a duration with units, such as 30s, 12h, 90d or 1d12h", text)
	digits, rest, hasDays := strings.Cut(text, "d")
	if !hasDays {
		d, err := time.ParseDuration(text)
		if err != nil {
			return 0, wrong
		}
		return d, nil
	}
	days, err := strconv.Atoi(digits)
	if err != nil || days < 0 || days > most {
		return 0, wrong
	}
	if rest == "" {
		return time.Duration(days) * day, nil
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d < 0 {
		return 0, wrong
	}
	return time.Duration(days)*day + d, nil
}
