package sqlite

import "os"

// lockDatabase locks the file of a database itself, whatever its name. On Linux such a
// lock has nothing to do with those that SQLite takes.
func lockDatabase(path string) (unlock func() error, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return exclusively(f, false)
}
