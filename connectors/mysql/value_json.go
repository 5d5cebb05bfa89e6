package mysql

// appendServerJSON writes JSON as MySQL does, with a space behind commas and colons: the snapshot's text has them, the log's
// has not (I2).
func appendServerJSON(dst, text []byte) []byte {
	quoted := false
	for i := 0; i < len(text); i++ {
		ch := text[i]
		dst = append(dst, ch)
		switch {
		case quoted && ch == '\\' && i+1 < len(text):
			i++
			dst = append(dst, text[i])
		case ch == '"':
			quoted = !quoted
		case !quoted && (ch == ',' || ch == ':') && i+1 < len(text) && text[i+1] != ' ':
			dst = append(dst, ' ')
		}
	}
	return dst
}
