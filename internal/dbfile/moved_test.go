package dbfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stockrewards/internal/dbfile"
)

// After the files of a database were moved away, only they are opened again, unless an operator removes the note.
func TestMovedFiles(t *testing.T) {
	t.Parallel()
	const opens = ""
	for name, c := range map[string]struct {
		do   func(path string) error
		want string
	}{
		"nothing is there":          {func(p string) error { return errors.Join(os.Rename(p, p+".x"), os.Rename(p+"-wal", p+".y")) }, "moved away"},
		"the log is there":          {func(p string) error { return os.Rename(p, p+".x") }, "moved away"},
		"the database is there":     {func(p string) error { return os.Rename(p+"-wal", p+".y") }, "moved away"},
		"another database is there": {replace, "moved away"},
		"both are back":             {func(string) error { return nil }, opens},
		"a copy without the log":    {func(p string) error { return errors.Join(replace(p), os.Remove(p+"-wal")) }, "moved away"},
		"an operator decides":       {func(p string) error { return errors.Join(replace(p), os.Remove(p+".moved")) }, opens},
		"only the log, without a note": {
			func(p string) error { return errors.Join(os.Remove(p), os.Remove(p+".moved")) },
			"its log",
		},
		"an empty file, without a note": {
			func(p string) error { return errors.Join(os.Truncate(p, 0), os.Remove(p+".moved")) },
			"its log",
		},
		"a note that cannot be read": {func(p string) error { return os.WriteFile(p+".moved", []byte("x"), 0o600) }, "cannot read"},
	} {
		path := filepath.Join(t.TempDir(), "rewards.db")
		var files [2]fs.FileInfo
		for i, suffix := range []string{"", "-wal"} {
			if err := os.WriteFile(path+suffix, []byte("content"), 0o600); err != nil {
				t.Fatal(err)
			}
			files[i], _ = os.Stat(path + suffix)
		}
		if err := errors.Join(dbfile.NoteMoved(path, files[0], files[1]), c.do(path)); err != nil {
			t.Fatal(err)
		}
		_, err := dbfile.Prepare(path)
		if (c.want == opens) != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if _, left := os.Stat(path + ".moved"); err == nil && left == nil {
			t.Errorf("%s: the note is left", name)
		}
	}
}

// replace puts another file in the place of a database.
func replace(path string) error {
	return errors.Join(os.WriteFile(path+".new", []byte("another"), 0o600), os.Rename(path+".new", path))
}
