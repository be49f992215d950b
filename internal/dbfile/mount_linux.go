package dbfile

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// checkMount fails when a file is itself a mount, as with `docker run -v /data/rewards.db:/rewards.db`: SQLite keeps
// its log beside the name, so the log would be in the folder below, and lost with it. A kernel before 5.8 does not say.
func checkMount(path string) error {
	var stat unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_BASIC_STATS, &stat); err != nil {
		return nil //nolint:nilerr // then it cannot be opened either, which says why
	}
	if stat.Attributes&stat.Attributes_mask&unix.STATX_ATTR_MOUNT_ROOT != 0 {
		return fmt.Errorf("cannot open %s: the file itself is mounted, and the log beside it would be lost; "+
			"mount its folder instead", path)
	}
	return nil
}
