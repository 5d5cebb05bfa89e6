package topics

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// encodeJSON writes what Java's Jackson would: no HTML escapes, no trailing newline.
func encodeJSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("topics: encoding %T: %v", v, err)) // our own types always encode
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
