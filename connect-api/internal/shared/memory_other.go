//go:build !linux

package shared

import "errors"

// Create fails: memory without a name that another process can open is Linux's.
func Create(int, int) (*Memory, error) { return nil, errors.ErrUnsupported }

// Open fails as Create does.
func Open(string, int, int) (*Memory, error) { return nil, errors.ErrUnsupported }

// Close has nothing to do.
func (*Memory) Close() error { return nil }

// Discard has nothing to do.
func (*Memory) Discard(uint32) error { return nil }
