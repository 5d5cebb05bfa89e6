//go:build !linux

package lake

import (
	"errors"
	"io/fs"
	"os"
)

// renameNew renames a file unless the new name is taken. Here that is two steps, safe as long as one task owns a topic
// partition.
func renameNew(from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: fs.ErrExist}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(from, to)
}
