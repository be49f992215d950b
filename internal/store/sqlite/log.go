package sqlite

import (
	"fmt"
	"sync"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// SQLite writes two pieces for each page of a commit into the write-ahead log, each by a
// system call: for a batch of rewards some hundred calls, while the writer's turn is
// what recording waits for. The file layer vfsName is the system's own, but gathers the
// pieces that a connection appends to its log until the log is synced, read or
// measured: a commit writes once. Nobody else reads them before, as SQLite tells others
// of a commit after the sync (synchronous = FULL).
const vfsName = "stockrewards"

// gatherMost is how many bytes of the log are gathered at most: as many as SQLite's own
// layer for Unix (os_unix.c) can write at once.
const gatherMost = 0x1ffff

// logFile is a write-ahead log that a connection has open. What SQLite reads of it is
// not in Go's memory.
type logFile struct {
	system   *lib.Tsqlite3_io_methods // the system's own functions
	methods  uintptr                  // ours, which SQLite calls
	gathered uintptr                  // gatherMost bytes; 0 until something is written
	from     int64                    // where in the file the gathered begins
	size     int32                    // of the gathered
}

// logFiles are the open logs by SQLite's address of the file.
var logFiles sync.Map //nolint:gochecknoglobals // SQLite calls plain functions, with that address

// register makes the file layer known to SQLite, once.
var register = sync.OnceValue(func() error { //nolint:gochecknoglobals // SQLite's registry is the process's
	tls := libc.NewTLS()
	defer tls.Close()
	system := lib.Xsqlite3_vfs_find(tls, 0)
	if system == 0 {
		return fmt.Errorf("sqlite: the system has no file layer")
	}
	name, err := libc.CString(vfsName)
	if err != nil {
		return fmt.Errorf("sqlite: %w", err)
	}
	own := allocate[lib.Tsqlite3_vfs](tls)
	layer := at[lib.Tsqlite3_vfs](own)
	*layer = *at[lib.Tsqlite3_vfs](system)
	systemOpen = layer.FxOpen
	layer.FpNext, layer.FzName, layer.FxOpen = 0, name, address(openFile)
	if rc := lib.Xsqlite3_vfs_register(tls, own, 0); rc != lib.SQLITE_OK {
		return fmt.Errorf("sqlite: the file layer cannot be registered: %d", rc)
	}
	return nil
})

var systemOpen uintptr //nolint:gochecknoglobals // set once, by register

// The kinds of functions that SQLite's file layer consists of.
type (
	opening   = func(tls *libc.TLS, vfs, name, file uintptr, flags int32, outFlags uintptr) int32
	moving    = func(tls *libc.TLS, file, data uintptr, size int32, offset int64) int32
	setting   = func(tls *libc.TLS, file uintptr, value int64) int32
	syncing   = func(tls *libc.TLS, file uintptr, flags int32) int32
	measuring = func(tls *libc.TLS, file, size uintptr) int32
	closing   = func(tls *libc.TLS, file uintptr) int32
)

// allocate takes memory outside of Go's, without which SQLite cannot go on either.
func allocate[T any](tls *libc.TLS) uintptr {
	var sized T
	p := libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(sized)))
	if p == 0 {
		panic("sqlite: out of memory")
	}
	return p
}

// at is what stands at an address of SQLite's.
func at[T any](address uintptr) *T { return *(**T)(unsafe.Pointer(&address)) }

// address is a function as SQLite refers to it.
func address[F any](f F) uintptr { return *(*uintptr)(unsafe.Pointer(&f)) }

// function is what SQLite refers to.
func function[F any](address uintptr) F { return *(*F)(unsafe.Pointer(&address)) }

func openFile(tls *libc.TLS, vfs, name, file uintptr, flags int32, outFlags uintptr) int32 {
	rc := function[opening](systemOpen)(tls, vfs, name, file, flags, outFlags)
	if rc != lib.SQLITE_OK || flags&lib.SQLITE_OPEN_WAL == 0 {
		return rc
	}
	theirs := &at[lib.Tsqlite3_file](file).FpMethods
	l := &logFile{system: at[lib.Tsqlite3_io_methods](*theirs), methods: allocate[lib.Tsqlite3_io_methods](tls)}
	ours := at[lib.Tsqlite3_io_methods](l.methods)
	*ours = *l.system
	ours.FxWrite, ours.FxRead = address(writeLog), address(readLog)
	ours.FxTruncate, ours.FxSync = address(truncateLog), address(syncLog)
	ours.FxFileSize, ours.FxClose = address(measureLog), address(closeLog)
	logFiles.Store(file, l)
	*theirs = l.methods
	return rc
}

func logOf(file uintptr) *logFile {
	value, _ := logFiles.Load(file)
	l, _ := value.(*logFile) // it is: only of these files are we asked
	return l
}

func writeLog(tls *libc.TLS, file, data uintptr, size int32, offset int64) int32 {
	l := logOf(file)
	if offset != l.from+int64(l.size) || l.size+size > gatherMost {
		if rc := l.write(tls, file); rc != lib.SQLITE_OK {
			return rc
		}
		l.from = offset
	}
	if l.gathered == 0 {
		l.gathered = allocate[[gatherMost]byte](tls)
	}
	copy(at[[gatherMost]byte](l.gathered)[l.size:], unsafe.Slice(at[byte](data), size))
	l.size += size
	return lib.SQLITE_OK
}

// write writes what was gathered. What could not be written is forgotten, as SQLite
// then does.
func (l *logFile) write(tls *libc.TLS, file uintptr) int32 {
	if l.size == 0 {
		return lib.SQLITE_OK
	}
	from, size := l.from, l.size
	l.from, l.size = from+int64(size), 0
	return function[moving](l.system.FxWrite)(tls, file, l.gathered, size, from)
}

func readLog(tls *libc.TLS, file, data uintptr, size int32, offset int64) int32 {
	l := logOf(file)
	if rc := l.write(tls, file); rc != lib.SQLITE_OK {
		return rc
	}
	return function[moving](l.system.FxRead)(tls, file, data, size, offset)
}

func truncateLog(tls *libc.TLS, file uintptr, size int64) int32 {
	l := logOf(file)
	if rc := l.write(tls, file); rc != lib.SQLITE_OK {
		return rc
	}
	return function[setting](l.system.FxTruncate)(tls, file, size)
}

func syncLog(tls *libc.TLS, file uintptr, flags int32) int32 {
	l := logOf(file)
	if rc := l.write(tls, file); rc != lib.SQLITE_OK {
		return rc
	}
	return function[syncing](l.system.FxSync)(tls, file, flags)
}

func measureLog(tls *libc.TLS, file, size uintptr) int32 {
	l := logOf(file)
	if rc := l.write(tls, file); rc != lib.SQLITE_OK {
		return rc
	}
	return function[measuring](l.system.FxFileSize)(tls, file, size)
}

func closeLog(tls *libc.TLS, file uintptr) int32 {
	l := logOf(file)
	written := l.write(tls, file)
	logFiles.Delete(file)
	defer libc.Xfree(tls, l.methods)
	defer libc.Xfree(tls, l.gathered)
	if rc := function[closing](l.system.FxClose)(tls, file); rc != lib.SQLITE_OK {
		return rc
	}
	return written
}
