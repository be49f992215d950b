package sqlite

import "os"

// lockDatabase locks the file of a database itself, whatever its name. On Linux this lock is
// independent of SQLite's own.
func lockDatabase(path string) (unlock func() error, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return exclusively(f)
}
