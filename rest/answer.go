package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/penstockio/penstock/rest/api"
)

func fail(c *gin.Context, status int, message string) {
	answer(c, status, &api.Error{ErrorCode: status, Message: message})
	c.Abort()
}

// failWith answers an error with the status it carries (I1).
func failWith(c *gin.Context, err error) {
	e := api.AsError(err)
	if c.GetBool(patientKey) && (e.ErrorCode == http.StatusConflict && strings.HasPrefix(e.Message, conflict) || doubtful(c, e.ErrorCode)) {
		c.Set(unsettledKey, e) // see forwarded
		return
	}
	if errors.Is(err, context.DeadlineExceeded) {
		e = api.Errorf(http.StatusInternalServerError, "Request timed out. The operation may still take effect. It was: %v", err)
	}
	answer(c, e.ErrorCode, e)
	c.Abort()
}

// answer writes JSON as Jackson would: no HTML escapes, so that configurations read as they were written.
func answer(c *gin.Context, status int, v any) {
	b, err := encode(v)
	if err != nil {
		status, b = http.StatusInternalServerError, []byte(`{"error_code":500,"message":"encoding the answer failed"}`)
	}
	c.Data(status, "application/json", b)
}

func writeError(w http.ResponseWriter, status int, message string) {
	b, _ := encode(&api.Error{ErrorCode: status, Message: message}) // two plain fields
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b) // the client may be gone
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// body reads a request's.
func body(c *gin.Context) ([]byte, error) {
	b, err := io.ReadAll(c.Request.Body)
	var tooBig *http.MaxBytesError
	switch {
	case errors.As(err, &tooBig):
		return nil, api.Errorf(http.StatusRequestEntityTooLarge, "the request's body is larger than %d bytes", tooBig.Limit)
	case err != nil:
		return nil, api.Errorf(http.StatusBadRequest, "reading the request's body: %v", err)
	}
	return b, nil
}

// decode reads a JSON body; what is wrong with it is told with line and column.
func decode(c *gin.Context, v any) error {
	b, err := body(c)
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(b)) == 0 {
		return api.Errorf(http.StatusBadRequest, "the request has no body: send a JSON object")
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return badJSON(b, d, v, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return api.Errorf(http.StatusBadRequest, "malformed JSON at %s: there is more behind the object", place(b, d.InputOffset()))
	}
	return nil
}

func badJSON(b []byte, d *json.Decoder, v any, err error) error {
	var syntax *json.SyntaxError
	var typ *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return api.Errorf(http.StatusBadRequest, "malformed JSON at %s: %v", place(b, syntax.Offset), err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return api.Errorf(http.StatusBadRequest, "malformed JSON at %s: it ends too early", place(b, int64(len(b))))
	case errors.As(err, &typ) && typ.Field != "":
		return api.Errorf(http.StatusBadRequest, "JSON of the wrong shape: %q must be %s, found %s", typ.Field, jsonName(typ.Type.Kind().String()), jsonName(typ.Value))
	case errors.As(err, &typ):
		want := "a JSON object of keys and values"
		if _, ok := v.(*api.CreateRequest); ok {
			want = `a JSON object with "name" and "config"`
		}
		return api.Errorf(http.StatusBadRequest, "JSON of the wrong shape: expected %s, found %s", want, jsonName(typ.Value))
	}
	return api.Errorf(http.StatusBadRequest, "JSON of the wrong shape at %s: %v", place(b, d.InputOffset()), err)
}

// jsonName says in JSON's words what the decoder names in its own or in Go's.
func jsonName(kind string) string {
	switch kind, _, _ = strings.Cut(kind, " "); kind { // "number 1e999" holds the value
	case "array":
		return "an array"
	case "object", "map", "struct":
		return "an object"
	case "bool":
		return "true or false"
	}
	return "a " + kind
}

func place(b []byte, offset int64) string {
	head := b[:min(int(offset), len(b))]
	line := bytes.Count(head, []byte("\n")) + 1
	return fmt.Sprintf("line %d, column %d", line, len(head)-bytes.LastIndexByte(head, '\n'))
}

func within(c *gin.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(c.Request.Context(), d)
}
