package sqlite

import (
	"strconv"
	"sync"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// pageSize is SQLite's default, which all our databases have.
const pageSize = 4096

// cachePages is how many pages a connection may cache.
const cachePages = 1900

// cacheSize is the setting for a number of pages.
func cacheSize(pages int) string { return "cache_size = " + strconv.Itoa(pages) }

// mostReserved bounds the memory that reservePages takes, to 84 MB.
const mostReserved = 10 * cachePages

var reserve sync.Once //nolint:gochecknoglobals // the memory is SQLite's, once for the process

// reservePages gives SQLite's library one block of memory for the cached pages of the connections, before anything of
// this process opens a database. Without it each page comes from the library's allocator, which rounds 4,368 bytes up
// to 8,192, and returns memory to the system that is wanted a moment later: every commit of the writer empties the
// caches of the readers. If another database was opened before, the library refuses, and works as without it.
//
// Source: "SQLITE_CONFIG_PAGECACHE" in SQLite's C interface.
func reservePages(connections int) {
	reserve.Do(func() {
		tls := libc.NewTLS()
		defer tls.Close()
		size := libc.Xcalloc(tls, 1, 8)
		defer libc.Xfree(tls, size)
		if !configure(tls, lib.SQLITE_CONFIG_PCACHE_HDRSZ, size) {
			return
		}
		slot := pageSize + libc.AtomicLoadPInt32(size)
		pages := int32(min(connections*cachePages, mostReserved))
		memory := libc.Xmalloc(tls, libc.Tsize_t(slot*pages))
		if memory != 0 && !configure(tls, lib.SQLITE_CONFIG_PAGECACHE, memory, slot, pages) {
			libc.Xfree(tls, memory)
		}
	})
}

// configure sets an option of the library. It reports false when the library is in use already.
func configure(tls *libc.TLS, option int32, args ...any) bool {
	list := libc.NewVaList(args...)
	defer libc.Xfree(tls, list)
	return lib.Xsqlite3_config(tls, option, list) == lib.SQLITE_OK
}
