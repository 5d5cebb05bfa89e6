package shared

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// seals: the size stays, and so do the seals (I1).
const seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL

// Create makes memory for a plugin to open. Slots are rounded up to whole pages.
func Create(slots, slotBytes int) (*Memory, error) {
	page := os.Getpagesize()
	slotBytes = (slotBytes + page - 1) / page * page
	if err := check(slots, slotBytes); err != nil {
		return nil, err
	}
	fd, err := unix.MemfdCreate("penstock-rows", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("making shared memory: %w", err)
	}
	m := &Memory{
		slots: slots, slotBytes: slotBytes, path: fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd),
		drop: func() error { return unix.Close(fd) },
	}
	err = unix.Ftruncate(fd, int64(slots)*int64(slotBytes))
	if err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals)
	}
	if err == nil {
		m.bytes, err = unix.Mmap(fd, 0, slots*slotBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err != nil {
		_ = m.Hide()
		return nil, fmt.Errorf("making shared memory of %d slots of %d bytes: %w", slots, slotBytes, err)
	}
	runtime.AddCleanup(m, func(b []byte) { _ = unix.Munmap(b) }, m.bytes) // I2
	return m, nil
}

// Open maps memory that another process made. Close unmaps it.
func Open(path string, slots, slotBytes int) (*Memory, error) {
	if err := check(slots, slotBytes); err != nil {
		return nil, err
	}
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening shared memory %s: %w", path, err)
	}
	defer func() { _ = unix.Close(fd) }() // what is mapped stays
	has, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	var st unix.Stat_t
	if err == nil {
		err = unix.Fstat(fd, &st)
	}
	if err != nil {
		return nil, fmt.Errorf("opening shared memory %s: it is none: %w", path, err)
	}
	if has&seals != seals || st.Size != int64(slots)*int64(slotBytes) { // I1
		return nil, fmt.Errorf("opening shared memory %s: %d bytes, seals %#x, are not %d sealed slots of %d bytes", path, st.Size, has, slots, slotBytes)
	}
	m := &Memory{slots: slots, slotBytes: slotBytes}
	m.bytes, err = unix.Mmap(fd, 0, slots*slotBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping shared memory %s: %w", path, err)
	}
	return m, nil
}

// Close unmaps what Open has mapped. Nothing may point into it any more.
func (m *Memory) Close() error {
	b := m.bytes
	m.bytes, m.slots = nil, 0
	if b == nil {
		return nil
	}
	return unix.Munmap(b)
}

// Discard gives a slot's memory back to the system; it reads as zeros from then on, at both ends.
func (m *Memory) Discard(n uint32) error {
	s := m.Slot(n)
	if s == nil {
		return nil
	}
	return unix.Madvise(s, unix.MADV_REMOVE)
}
