package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// Memory is the path of a database in memory. It has one connection.
const Memory = ":memory:"

// memories numbers the databases in memory.
var memories atomic.Int64 //nolint:gochecknoglobals // their names are global in SQLite

// memoryName returns the URI of a new database in memory.
func memoryName() string { return fmt.Sprintf("file:/memory-%d?vfs=memdb", memories.Add(1)) }

// content is a new database with the schema of this program, and the version of that.
type content struct {
	version int64
	bytes   []byte
}

// newContent migrates one database for all those in memory: tests open thousands, and migrating takes longer than most.
var newContent = sync.OnceValues(func() (c content, err error) { //nolint:gochecknoglobals // it never changes
	name := memoryName()
	s, err := dial(name) // the database lives as long as this
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	ctx := context.Background() //nolint:forbidigo // it is for all callers
	if c.version, _, err = migrate(ctx, name, Memory, Options{}); err != nil {
		return c, err
	}
	c.bytes, err = s.conn.Serialize("main")
	return c, err
})

// fill makes the database of a connection a new one in memory, and returns the version of its schema.
func (s *session) fill() (version int64, err error) {
	c, err := newContent()
	if err != nil {
		return 0, err
	}
	return c.version, s.conn.Deserialize("main", c.bytes)
}
