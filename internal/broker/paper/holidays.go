package paper

import "time"

// The hours of the New York Stock Exchange's closing bell.
const (
	fullDayClose = 16
	halfDayClose = 13
	juneteenth   = 2022 // the first year in which the exchange kept it
)

// closingTime is the hour at which the exchange closes on that day, in New York,
// and 0 when it does not open at all. It goes by the exchange's rules; closings
// that were decreed for one day, as at a president's death, are not in them.
func closingTime(day time.Time) int {
	weekday := day.Weekday()
	if weekday == time.Saturday || weekday == time.Sunday || isHoliday(day) {
		return 0
	}
	if isHalfDay(day) {
		return halfDayClose
	}
	return fullDayClose
}

// isHoliday says whether the exchange is closed on a weekday.
func isHoliday(day time.Time) bool {
	y, month, d := day.Date()
	switch month {
	case time.January:
		return d == 1 || d == 2 && day.Weekday() == time.Monday || // a Saturday's new year is not made up for
			isNth(day, time.Monday, 3) // Martin Luther King
	case time.February:
		return isNth(day, time.Monday, 3) // Washington
	case time.May:
		return day.Weekday() == time.Monday && d > 24 // Memorial Day, the last Monday
	case time.June:
		return y >= juneteenth && isObserved(day, time.June, 19)
	case time.July:
		return isObserved(day, time.July, 4)
	case time.September:
		return isNth(day, time.Monday, 1) // Labor Day
	case time.November:
		return isNth(day, time.Thursday, 4) // Thanksgiving
	case time.December:
		return isObserved(day, time.December, 25)
	case time.March, time.April:
		return isGoodFriday(day)
	case time.August, time.October:
	}
	return false
}

// isHalfDay says whether the exchange closes early on a trading day.
func isHalfDay(day time.Time) bool {
	_, month, d := day.Date()
	dayAfterThanksgiving := month == time.November && day.Weekday() == time.Friday && d >= 23 && d <= 29
	return dayAfterThanksgiving ||
		month == time.December && d == 24 ||
		month == time.July && d == 3 // before a Saturday's 4th it is the holiday itself
}

// isObserved says whether a holiday with a fixed date is kept on that day: on the
// Friday before a Saturday's, on the Monday after a Sunday's.
func isObserved(day time.Time, month time.Month, date int) bool {
	holiday := time.Date(day.Year(), month, date, 0, 0, 0, 0, day.Location())
	switch holiday.Weekday() {
	case time.Saturday:
		holiday = holiday.AddDate(0, 0, -1)
	case time.Sunday:
		holiday = holiday.AddDate(0, 0, 1)
	case time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday:
	}
	return day.YearDay() == holiday.YearDay()
}

// isNth says whether the day is the n-th such weekday of its month.
func isNth(day time.Time, weekday time.Weekday, n int) bool {
	return day.Weekday() == weekday && (day.Day()-1)/7 == n-1
}

func isGoodFriday(day time.Time) bool {
	friday := easter(day.Year(), day.Location()).AddDate(0, 0, -2)
	return day.YearDay() == friday.YearDay()
}

// easter is Easter Sunday by the anonymous Gregorian computus.
func easter(year int, zone *time.Location) time.Time {
	a, b, c := year%19, year/100, year%100
	h := (19*a + b - b/4 - (b-(b+8)/25+1)/3 + 15) % 30
	l := (32 + 2*(b%4) + 2*(c/4) - h - c%4) % 7
	m := (a + 11*h + 22*l) / 451
	n := h + l - 7*m + 114
	return time.Date(year, time.Month(n/31), n%31+1, 0, 0, 0, 0, zone)
}
