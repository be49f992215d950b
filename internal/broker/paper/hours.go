package paper

import (
	"fmt"
	"time"
	_ "time/tzdata" // New York's time also where the host has no time zones
)

const newYorkZone = "America/New_York"

// Hours say when the market is open.
type Hours int

const (
	// AlwaysOpen never closes; its sessions are the days of UTC, back to back.
	AlwaysOpen Hours = iota
	// USEquities is open from 9:30 to 16:00 in New York on the trading days of the
	// New York Stock Exchange, and to 13:00 on its half days.
	USEquities
)

// String is the name of the hours.
func (h Hours) String() string {
	switch h {
	case AlwaysOpen:
		return "always open"
	case USEquities:
		return "US equities"
	}
	return fmt.Sprintf("Hours(%d)", int(h))
}

// session is one stretch of trading: from open until before close.
type session struct {
	open, close time.Time
}

func (s session) contains(t time.Time) bool { return !t.Before(s.open) && t.Before(s.close) }

// timetable knows all sessions.
type timetable struct {
	hours Hours
	zone  *time.Location
}

func newTimetable(h Hours) (timetable, error) {
	switch h {
	case AlwaysOpen:
		return timetable{h, time.UTC}, nil
	case USEquities:
		zone, err := time.LoadLocation(newYorkZone)
		if err != nil {
			return timetable{}, fmt.Errorf("find New York's time: %w", err)
		}
		return timetable{h, zone}, nil
	}
	return timetable{}, fmt.Errorf("unknown %s", h)
}

// on is the session of a day (a midnight in the timetable's zone), if it has one.
func (tt timetable) on(day time.Time) (session, bool) {
	if tt.hours == AlwaysOpen {
		return session{day, nextDay(day)}, true
	}
	closing := closingTime(day)
	if closing == 0 {
		return session{}, false
	}
	y, m, d := day.Date()
	return session{
		open:  time.Date(y, m, d, 9, 30, 0, 0, tt.zone),
		close: time.Date(y, m, d, closing, 0, 0, 0, tt.zone),
	}, true
}

// at is the session that t falls in, or the next one when the market is closed.
func (tt timetable) at(t time.Time) session {
	for day := tt.day(t); ; day = nextDay(day) { // a market never stays closed for long
		if s, ok := tt.on(day); ok && t.Before(s.close) {
			return s
		}
	}
}

// before is the last session that ended at t or earlier.
func (tt timetable) before(t time.Time) session {
	for day := tt.day(t); ; day = day.AddDate(0, 0, -1) {
		if s, ok := tt.on(day); ok && !s.close.After(t) {
			return s
		}
	}
}

// day is the midnight in the timetable's zone that t's day began with.
func (tt timetable) day(t time.Time) time.Time {
	y, m, d := t.In(tt.zone).Date()
	return time.Date(y, m, d, 0, 0, 0, 0, tt.zone)
}

func nextDay(day time.Time) time.Time { return day.AddDate(0, 0, 1) }
