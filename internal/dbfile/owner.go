package dbfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
)

const root = 0 // the user's id

// Create makes a new file that only its owner can access. Its owner is as Give says. It fails with fs.ErrExist.
func Create(path, database string) (*os.File, error) {
	const ownerOnly = 0o600
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, ownerOnly)
	if err != nil {
		return nil, err
	}
	Give(f, database)
	return f, nil
}

// Give gives a file that this process has just made to the owner of a database, or to that of the file's folder when
// there is no such database. Only root can, and then the service's user can open what a command of root made. The file
// stays as it is where root has no right to give it away. Never give a file that was there before: it may be a link to
// a file of another user.
func Give(f *os.File, database string) {
	like, err := os.Stat(database)
	if err != nil {
		like, err = os.Stat(filepath.Dir(f.Name()))
	}
	if err != nil || os.Geteuid() != root {
		return
	}
	if uid, gid, known := owner(like); known && uid != root {
		_ = f.Chown(uid, gid)
	}
}

// Denied adds to an error of opening a file who owns it and what to do, if this user has no right to open it. otherwise
// is what else helps, or "". Other errors stay as they are.
func Denied(path string, err error, otherwise string) error {
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return belongs(path, err, otherwise)
}

// NoAccess adds to the error of SQLite for a database that this user cannot open what SQLite needs, who owns the file
// and its folder, and what to do. Whoever owns both can run the command. In this user's own folder the file is a stray
// one.
func NoAccess(path string, err error) error {
	err = fmt.Errorf("this user must be able to read and write the file and its folder, where the log is: %w", err)
	if os.Geteuid() == root {
		return err // it may open what belongs to others
	}
	folder := filepath.Dir(path)
	ofFolder := otherOwner(folder)
	if ofFolder == "" {
		return belongs(path, err, "")
	}
	what, who, give := "its folder", ofFolder, folder
	if ofFile := otherOwner(path); ofFile != "" {
		what, who, give = "it", ofFile, folder+" "+path
	}
	me := userName(os.Geteuid())
	return fmt.Errorf("%w: %s belongs to %s; run this command as %[3]s, or give it to %s (`chown %[4]s %s`)",
		err, what, who, me, give)
}

// otherOwner is the name of the owner of a file or a folder when that is another user. It is "" for a folder in which
// everybody may write.
func otherOwner(path string) string {
	const everybodyWrites = 0o002
	info, err := os.Stat(path)
	if err != nil || info.IsDir() && info.Mode()&everybodyWrites != 0 {
		return ""
	}
	uid, _, known := owner(info)
	if !known || uid == os.Geteuid() {
		return ""
	}
	return userName(uid)
}

func belongs(path string, err error, otherwise string) error {
	who := otherOwner(path)
	if who == "" {
		return err
	}
	return fmt.Errorf("%w: it belongs to %s; give it to %s (`chown %[3]s %s`)%s",
		err, who, userName(os.Geteuid()), path, otherwise)
}

// userName is the name of a user, or the id of one without a name.
func userName(uid int) string {
	id := strconv.Itoa(uid)
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return id
}
