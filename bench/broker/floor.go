package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// floorBytes is the size of the floor's file, written once with zeros and then over and over.
const floorBytes = 512 << 20

// runFloor is the least any durable broker must do: read 64 KiB from a socket, pwrite, fdatasync, answer a byte.
func runFloor(addr, name string) {
	if err := serveFloor(addr, name); err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
}

func serveFloor(addr, name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	zeros := make([]byte, 1<<20)
	for at := int64(0); at < floorBytes; at += int64(len(zeros)) {
		if _, err := f.WriteAt(zeros, at); err != nil {
			return err
		}
	}
	if err := f.Sync(); err != nil {
		return err
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	if err := os.WriteFile(name+".ready", nil, 0o600); err != nil {
		return err
	}
	var mu sync.Mutex // connections take turns in the file
	at := int64(0)
	for {
		nc, err := ln.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer nc.Close()
			b := make([]byte, batchBytes)
			for {
				if _, err := io.ReadFull(nc, b); err != nil {
					return
				}
				mu.Lock()
				_, err := f.WriteAt(b, at)
				at = (at + batchBytes) % floorBytes
				if err == nil {
					err = unix.Fdatasync(int(f.Fd()))
				}
				mu.Unlock()
				if err != nil {
					fmt.Fprintln(os.Stderr, "floor:", err)
					os.Exit(1)
				}
				if _, err := nc.Write([]byte{1}); err != nil {
					return
				}
			}
		}()
	}
}
