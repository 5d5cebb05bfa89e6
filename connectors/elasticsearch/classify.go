package elasticsearch

import "net/http"

// verdict is what is done about an item or a request.
type verdict uint8

const (
	done       verdict = iota
	conflict           // done: a newer version is there
	refused            // the document is at fault
	again              // sent again, max.retries times
	wait               // sent again, for as long as it takes
	waitLong           // the same, slowly: somebody must do something
	split              // the request is at fault: sent in halves
	failRecord         // sent too often: the record fails
	fatal              // the task fails
)

// op is what an item does.
type op uint8

const (
	opIndex op = iota
	opUpdate
	opDelete
)

// String is the op's name in a bulk request.
func (o op) String() string { return [...]string{"index", "update", "delete"}[o] }

const (
	typeBlocked = "cluster_block_exception"
	typeClosed  = "index_closed_exception"
	typeNoIndex = "index_not_found_exception"
)

// judgeItem says what an item's answer means: by status first, since types get new names (I3).
func judgeItem(o op, versioned bool, r *itemReply) verdict {
	kind := ""
	if r.Error != nil {
		kind = r.Error.Type
	}
	switch s := r.Status; {
	case s >= 200 && s < 300:
		return done
	case kind == typeBlocked, kind == typeClosed: // 403 or 429, e.g. a disk above the flood stage, or a write block; a closed index: 400
		return waitLong
	case s == http.StatusTooManyRequests:
		return wait
	case s == http.StatusServiceUnavailable:
		return waitLong
	case s == http.StatusConflict && versioned:
		return conflict
	case s == http.StatusConflict:
		return again
	case s == http.StatusNotFound && o == opDelete:
		return done
	case s == http.StatusNotFound && kind == typeNoIndex, s == http.StatusUnauthorized, s == http.StatusForbidden:
		return fatal
	case s == http.StatusBadRequest, s == http.StatusRequestEntityTooLarge, s == http.StatusNotFound:
		return refused
	case s >= 500:
		return again
	}
	return fatal
}

// judgeStatus says what a request's status means.
func judgeStatus(status int, kind string) verdict {
	switch {
	case status >= 200 && status < 300:
		return done
	case kind == typeBlocked, kind == typeClosed:
		return waitLong
	case status == http.StatusTooManyRequests, status == http.StatusRequestTimeout,
		status == http.StatusBadGateway, status == http.StatusServiceUnavailable, status == http.StatusGatewayTimeout:
		return wait
	case status == http.StatusRequestEntityTooLarge, status == http.StatusBadRequest:
		return split
	case status >= 500:
		return again
	}
	return fatal
}
