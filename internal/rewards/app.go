package rewards

import "time"

// App is one client application. It sees only its own data.
type App struct {
	ID        AppID
	Name      string
	Suspended bool // its requests are refused and its recorded rewards wait
	Limits    Limits
	Dividends DividendPolicy // what becomes of the cash dividends of its users
}

// CreatedAt returns when the app was created.
func (a App) CreatedAt() time.Time { return a.ID.Time() }

// MaxAppName is the longest name of an app, in characters.
const MaxAppName = 100
