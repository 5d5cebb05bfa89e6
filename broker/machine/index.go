package machine

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/penstockio/penstock/broker/index"
)

// EachKey hands f every key of a prefix, in order. Key and value are valid only during the call.
func EachKey(db *index.DB, p index.Prefix, f func(k, v []byte) error) error {
	it, err := db.Iter(index.PrefixRange(p))
	if err != nil {
		return err
	}
	return each(it, p, f)
}

func each(it *index.Iterator, p index.Prefix, f func(k, v []byte) error) (err error) {
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; ok = it.Next() {
		v, err := it.ValueAndErr()
		if err != nil {
			return fmt.Errorf("reading key %q of the index: %w", it.Key(), err)
		}
		if err := f(it.Key(), v); err != nil {
			return err
		}
	}
	if err := it.Error(); err != nil {
		return fmt.Errorf("reading prefix %q of the index: %w", byte(p), err)
	}
	return nil
}

// maxItem bounds a key or a value in a snapshot, so that a damaged length can't take all memory.
const maxItem = 64 << 20

// restoreBatch is how many bytes of a snapshot go into one index batch.
const restoreBatch = 1 << 20

// WriteSnapshot writes all keys of a prefix: for each the length of key and value as uvarints, then both.
func WriteSnapshot(at *index.Snapshot, p index.Prefix, w io.Writer) error {
	it, err := at.Iter(index.PrefixRange(p))
	if err != nil {
		return err
	}
	bw := bufio.NewWriter(w)
	var head []byte
	err = each(it, p, func(k, v []byte) error {
		head = binary.AppendUvarint(binary.AppendUvarint(head[:0], uint64(len(k))), uint64(len(v)))
		for _, b := range [][]byte{head, k, v} {
			if _, err := bw.Write(b); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = bw.Flush()
	}
	if err != nil {
		return fmt.Errorf("writing a snapshot of prefix %q: %w", byte(p), err)
	}
	return nil
}

// ReadSnapshot puts back what WriteSnapshot wrote, of a prefix and more if the machine owns more. Batches made by newBatch
// are the caller's to commit.
func ReadSnapshot(version, known uint8, p index.Prefix, r io.Reader, newBatch func() *index.Batch, more ...index.Prefix) error {
	if version != known {
		return fmt.Errorf("reading a snapshot of prefix %q: version %d, this program knows %d", byte(p), version, known)
	}
	br := bufio.NewReader(r)
	var b *index.Batch
	for size := restoreBatch; ; {
		k, v, err := readItem(br)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && (len(k) == 0 || k[0] != byte(p) && !slices.Contains(more, index.Prefix(k[0]))) {
			err = fmt.Errorf("key %q is not of the prefix", k)
		}
		if err != nil {
			return fmt.Errorf("reading a snapshot of prefix %q: %w", byte(p), err)
		}
		if size >= restoreBatch {
			b, size = newBatch(), 0
		}
		if err := b.Set(k, v); err != nil {
			return fmt.Errorf("restoring prefix %q: %w", byte(p), err)
		}
		size += len(k) + len(v)
	}
}

// readItem gives io.EOF only at the end of a whole snapshot.
func readItem(r *bufio.Reader) (k, v []byte, err error) {
	nk, err := binary.ReadUvarint(r)
	if err != nil {
		return nil, nil, err // a cut inside the number is io.ErrUnexpectedEOF
	}
	nv, err := binary.ReadUvarint(r)
	if err == nil && (nk > maxItem || nv > maxItem) {
		err = fmt.Errorf("an item of %d and %d bytes", nk, nv)
	}
	if err != nil {
		return nil, nil, unexpected(err)
	}
	b := make([]byte, nk+nv)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, nil, unexpected(err)
	}
	return b[:nk], b[nk:], nil
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
