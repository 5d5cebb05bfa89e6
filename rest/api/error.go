package api

import (
	"errors"
	"fmt"
	"net/http"
)

// Error is an answer that is not a success. Its JSON form is Kafka Connect's; the status equals ErrorCode.
type Error struct {
	ErrorCode int    `json:"error_code"`
	Message   string `json:"message"`
}

func (e *Error) Error() string { return e.Message }

// Errorf makes an Error with an HTTP status.
func Errorf(status int, format string, args ...any) *Error {
	return &Error{ErrorCode: status, Message: fmt.Sprintf(format, args...)}
}

// AsError gives the Error in err's chain, or a 500 that carries err's text.
func AsError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{ErrorCode: http.StatusInternalServerError, Message: err.Error()}
}
