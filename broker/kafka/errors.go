package kafka

import (
	"context"
	"errors"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/penstockio/penstock/broker/batch"
	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/queue"
	"github.com/penstockio/penstock/broker/store"
)

// Codes used at many places; the rest come from kerr where they are used.
const (
	errNone               int16 = 0
	errUnknown            int16 = -1
	errUnknownPartition   int16 = 3
	errUnsupportedVersion int16 = 35
	errStorage            int16 = 56
)

// code gives the Kafka error code for an error of the parts below.
func code(err error) int16 {
	var (
		known   *kerr.Error
		bad     *batch.Error
		seq     *queue.SequenceError
		off     *store.OffsetError
		corrupt *commitlog.CorruptError
	)
	switch {
	case err == nil:
		return errNone
	case errors.As(err, &known):
		return known.Code
	case errors.As(err, &bad):
		return bad.Code
	case errors.As(err, &seq):
		switch seq.Kind {
		case queue.FencedEpoch:
			return kerr.InvalidProducerEpoch.Code
		case queue.InTransaction:
			return kerr.InvalidTxnState.Code
		}
		return kerr.OutOfOrderSequenceNumber.Code
	case errors.As(err, &off):
		return kerr.OffsetOutOfRange.Code
	case errors.As(err, &corrupt):
		return kerr.CorruptMessage.Code
	case errors.Is(err, store.ErrTooLarge):
		return kerr.MessageTooLarge.Code
	case errors.Is(err, store.ErrNoQueue):
		return errUnknownPartition
	case errors.Is(err, store.ErrStorage):
		return errStorage
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return kerr.RequestTimedOut.Code
	}
	return errUnknown
}

// text is an error's message for answers that carry one; nil for none. The name of Kafka's code is left out of it: the
// code stands beside it, and clients show their own name for it.
func text(err error) *string {
	if err == nil {
		return nil
	}
	s := err.Error()
	var known *kerr.Error
	if errors.As(err, &known) {
		if before, ok := strings.CutSuffix(s, known.Error()); ok {
			s = before + known.Description
		}
	}
	return &s
}

func batchError(err error) *batch.Error {
	var bad *batch.Error
	if errors.As(err, &bad) {
		return bad
	}
	return nil
}
