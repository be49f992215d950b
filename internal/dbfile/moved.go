package dbfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// noteSuffix is that of the note beside a database that was moved away while a process used it.
const noteSuffix = ".moved"

const (
	noteFormat = "files %d %d\n" // the inodes of the database and of its log
	noteText   = "The database or its log was moved away, removed or replaced while a process used it.\n" +
		"Stop the service and put both files back: the newest awards are in the log. See docs/incidents.md.\n" +
		"To open the files that are here now all the same, as after restoring a backup, remove this one.\n"
)

// NoteMoved leaves a note beside a database, whose files were moved away, removed or replaced while a process used them
// as it had opened them. What other processes would open in their place is not the database: SQLite would write the log
// of one into the other, and delete it; and a copy of the database without its log lacks the newest awards. So Prepare
// fails until the files are back, or an operator removes the note.
func NoteMoved(path string, database, log fs.FileInfo) error {
	note := fmt.Sprintf(noteFormat, inode(database), inode(log)) + noteText
	f, err := Create(path+noteSuffix, path)
	if errors.Is(err, fs.ErrExist) { // of an earlier time
		f, err = os.OpenFile(path+noteSuffix, os.O_WRONLY|os.O_TRUNC, 0)
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(note)
	return errors.Join(err, f.Close())
}

// checkMoved fails while a note says that the files of a database are others than those that were used last. It removes
// the note when they are back.
func checkMoved(path string) error {
	note, err := os.ReadFile(path + noteSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var database, log uint64
	if err == nil {
		_, err = fmt.Sscanf(string(note), noteFormat, &database, &log)
	}
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", path+noteSuffix, err)
	}
	here, _ := found(path)
	logHere, _ := found(path + "-wal")
	if here != database || logHere != log {
		return fmt.Errorf("cannot open %s: this file or its log was moved away, removed or replaced while a process "+
			"used it; %s says what to do", path, path+noteSuffix)
	}
	return os.Remove(path + noteSuffix)
}

// checkLog fails when a log is there without its database: SQLite would begin an empty database, and delete the log. It
// also fails when the log is missing, and its index says that a part of it is not in the database.
func checkLog(path string) error {
	_, size := found(path)
	_, log := found(path + "-wal")
	switch {
	case log > 0 && size == 0:
		return fmt.Errorf("cannot open %s: it is missing or empty, but its log %s-wal has %d bytes; "+
			"put the database file back", path, path, log)
	case size > 0 && missing(path+"-wal") && logNeeded(path+"-shm") && missing(path+"-wal"): // nobody made it meanwhile
		return fmt.Errorf("cannot open %s: its log %s-wal is missing, which has the newest awards; put it back "+
			"(if this is a restored backup, remove %s-shm)", path, path, path)
	}
	return nil
}

func missing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// logNeeded reports whether the index of a log says that the log has pages which are not in the database. A process
// that ends normally removes the index before the log. Nothing of this process has the database open while its log is
// missing, so closing the index releases no lock.
//
// Source: "WAL-Index Header" in SQLite's page about the format of the WAL.
func logNeeded(path string) bool {
	const header, pages = 48, 16 // bytes of a header, and where it has the number of the log's pages
	const copied = 2 * header    // the header is there twice, and then how many of its pages are in the database
	index, err := os.ReadFile(path)
	if err != nil || len(index) < copied+4 || !bytes.Equal(index[:header], index[header:copied]) {
		return false
	}
	return binary.NativeEndian.Uint32(index[pages:]) > binary.NativeEndian.Uint32(index[copied:])
}

// found returns a file's inode and size; 0 without one.
func found(path string) (uint64, int64) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, 0
	}
	return inode(info), info.Size()
}
