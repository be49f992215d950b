package exchange

import (
	"time"
	_ "time/tzdata" // for hosts without time zones
)

// Hours are a market's trading hours.
type Hours int

const (
	// AlwaysOpen never closes; its sessions are the days of UTC, back to back.
	AlwaysOpen Hours = iota
	// USEquities is open from 9:30 to 16:00 in New York on the trading days of the
	// New York Stock Exchange, and to 13:00 on its half days.
	USEquities
)

// Session is a stretch of trading: from Open until before Close.
type Session struct{ Open, Close time.Time }

// Contains reports whether the market is open at t.
func (s Session) Contains(t time.Time) bool { return !t.Before(s.Open) && t.Before(s.Close) }

// Timetable knows all sessions of a market, past and future.
type Timetable struct {
	hours Hours
	zone  *time.Location
}

// Closes reports whether the market ever closes.
func (tt Timetable) Closes() bool { return tt.hours != AlwaysOpen }

// Local returns a time in the market's time zone.
func (tt Timetable) Local(t time.Time) time.Time { return t.In(tt.zone) }

// Date returns the midnight with which a date begins in the market's time zone.
func (tt Timetable) Date(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, 0, 0, 0, 0, tt.zone)
}

// Day returns the midnight with which t's day begins in the market's time zone.
func (tt Timetable) Day(t time.Time) time.Time { return tt.Date(t.In(tt.zone).Date()) }

// SessionOn returns the session of a day (a midnight in the market's time zone), and
// false when the market stays closed.
func (tt Timetable) SessionOn(day time.Time) (Session, bool) {
	if !tt.Closes() {
		return Session{day, NextDay(day)}, true
	}
	closing := closingHour(day)
	if closing == 0 {
		return Session{}, false
	}
	y, m, d := day.Date()
	return Session{
		Open:  time.Date(y, m, d, 9, 30, 0, 0, tt.zone),
		Close: time.Date(y, m, d, closing, 0, 0, 0, tt.zone),
	}, true
}

// SessionAt returns the session that contains t, or the next one when the market is
// closed. It is found within a few days.
func (tt Timetable) SessionAt(t time.Time) Session {
	for day := tt.Day(t); ; day = NextDay(day) {
		if s, ok := tt.SessionOn(day); ok && t.Before(s.Close) {
			return s
		}
	}
}

// sessionBefore returns the last session that closed at t or earlier.
func (tt Timetable) sessionBefore(t time.Time) Session {
	for day := tt.Day(t); ; day = day.AddDate(0, 0, -1) {
		if s, ok := tt.SessionOn(day); ok && !s.Close.After(t) {
			return s
		}
	}
}

// NextDay returns the midnight after a midnight.
func NextDay(day time.Time) time.Time { return day.AddDate(0, 0, 1) }
