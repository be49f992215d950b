package exchange

import "time"

// closingHour returns the hour at which the New York Stock Exchange closes on a day,
// and 0 when it stays closed. It follows the exchange's rules; days of mourning and
// other closings by decree are not in them.
func closingHour(day time.Time) int {
	const fullDay, halfDay = 16, 13
	weekday := day.Weekday()
	switch {
	case weekday == time.Saturday, weekday == time.Sunday, isHoliday(day):
		return 0
	case isHalfDay(day):
		return halfDay
	}
	return fullDay
}

func isHoliday(day time.Time) bool {
	const juneteenthSince = 2022
	return isNewYear(day) ||
		isNth(day, time.January, time.Monday, 3) || // Martin Luther King Jr. Day
		isNth(day, time.February, time.Monday, 3) || // Washington's Birthday
		isGoodFriday(day) ||
		isNth(day.AddDate(0, 0, 7), time.June, time.Monday, 1) || // Memorial Day, the last Monday of May
		day.Year() >= juneteenthSince && isObserved(day, time.June, 19) ||
		isObserved(day, time.July, 4) ||
		isNth(day, time.September, time.Monday, 1) || // Labor Day
		isNth(day, time.November, time.Thursday, 4) || // Thanksgiving
		isObserved(day, time.December, 25)
}

// isHalfDay reports whether the exchange closes early on a trading day: before
// Independence Day and Christmas, and after Thanksgiving.
func isHalfDay(day time.Time) bool {
	_, month, d := day.Date()
	return month == time.July && d == 3 || month == time.December && d == 24 ||
		month == time.November && day.Weekday() == time.Friday && d >= 23 && d <= 29
}

// isNewYear reports whether the exchange is closed for New Year's Day. A Sunday's is
// observed on Monday; a Saturday's is not observed.
func isNewYear(day time.Time) bool {
	_, month, d := day.Date()
	return month == time.January && (d == 1 || d == 2 && day.Weekday() == time.Monday)
}

// isObserved reports whether a holiday with a fixed date is observed on that day: a
// Saturday's on the Friday before, a Sunday's on the Monday after.
func isObserved(day time.Time, month time.Month, date int) bool {
	if day.Month() != month {
		return false
	}
	holiday := day.AddDate(0, 0, date-day.Day()).Weekday()
	if holiday == time.Saturday {
		date--
	}
	if holiday == time.Sunday {
		date++
	}
	return day.Day() == date
}

// isNth reports whether the day is the n-th such weekday of that month.
func isNth(day time.Time, month time.Month, weekday time.Weekday, n int) bool {
	return day.Month() == month && day.Weekday() == weekday && (day.Day()-1)/7 == n-1
}

func isGoodFriday(day time.Time) bool {
	month, date := easter(day.Year())
	friday := time.Date(day.Year(), month, date-2, 0, 0, 0, 0, time.UTC)
	return day.YearDay() == friday.YearDay()
}

// easter returns the date of Easter Sunday, by the anonymous Gregorian computus.
func easter(year int) (time.Month, int) {
	a, b, c := year%19, year/100, year%100
	h := (19*a + b - b/4 - (b-(b+8)/25+1)/3 + 15) % 30
	l := (32 + 2*(b%4) + 2*(c/4) - h - c%4) % 7
	m := (a + 11*h + 22*l) / 451
	n := h + l - 7*m + 114
	return time.Month(n / 31), n%31 + 1
}
