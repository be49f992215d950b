package test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A database of an account at the paper brokerage never gets a new brokerage, which has another account.
func TestTheBooksOfThePaperBrokerageAreMissing(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
	s.start()
	r := s.give(s.newUser("anna"), "missing-books", "5", "KO")
	s.await(r.ID, "executed", 20*time.Second)
	noError(t, s.stop())
	books, away := filepath.Join(s.folder, "paper.db"), filepath.Join(t.TempDir(), "paper.db")
	noError(t, os.Rename(books, away))
	for _, line := range []string{
		"audit --broker", "asset sync --dry-run", "ledger --positions", "order adopt sr-0-0 --reason x",
		"serve --listen 127.0.0.1:0",
	} {
		s.wantError("paper.db is missing beside the database, whose stock is in the account ", strings.Fields(line)...)
		if _, err := os.Stat(books); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("%s made new books: %v", line, err)
		}
	}

	other := newService(t, t.TempDir())
	other.start()
	other.newUser("bob")
	noError(t, other.stop())
	noError(t, os.Rename(filepath.Join(other.folder, "paper.db"), books))
	s.wantError("paper.db beside the database has the account ", "audit", "--broker")

	noError(t, os.Rename(away, books))
	s.wantOutput("breaks: 0 ", "audit", "--broker")
	s.start()
}
