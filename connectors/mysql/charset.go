package mysql

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

// charsets decode the bytes of the log, which are in the column's own character set.
var charsets = map[string]encoding.Encoding{
	"cp1250": charmap.Windows1250, "cp1251": charmap.Windows1251, "cp1256": charmap.Windows1256, "cp1257": charmap.Windows1257,
	"latin2": charmap.ISO8859_2, "latin5": charmap.ISO8859_9, "latin7": charmap.ISO8859_13, "greek": charmap.ISO8859_7, "hebrew": charmap.ISO8859_8,
	"koi8r": charmap.KOI8R, "koi8u": charmap.KOI8U, "cp866": charmap.CodePage866, "cp850": charmap.CodePage850, "cp852": charmap.CodePage852,
	"macroman": charmap.Macintosh, "tis620": charmap.Windows874,
	"gbk": simplifiedchinese.GBK, "gb2312": simplifiedchinese.GBK, "gb18030": simplifiedchinese.GB18030, "big5": traditionalchinese.Big5,
	"sjis": japanese.ShiftJIS, "cp932": japanese.ShiftJIS, "ujis": japanese.EUCJP, "eucjpms": japanese.EUCJP, "euckr": korean.EUCKR,
	"ucs2": unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), "utf16": unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM),
	"utf16le": unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), "utf32": utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM),
}

// text gives bytes of a character set as UTF-8, appended to dst. Bytes the set does not have become U+FFFD.
func appendText(dst []byte, charset string, b []byte) ([]byte, error) {
	switch charset {
	case "", "utf8", "utf8mb3", "utf8mb4", "ascii", "binary":
		if utf8.Valid(b) {
			return append(dst, b...), nil
		}
		return append(dst, strings.ToValidUTF8(string(b), "\ufffd")...), nil
	case "latin1": // cp1252, with the five bytes cp1252 leaves out as controls
		for _, ch := range b {
			r := charmap.Windows1252.DecodeByte(ch)
			if r == utf8.RuneError {
				r = rune(ch)
			}
			dst = utf8.AppendRune(dst, r)
		}
		return dst, nil
	}
	enc, ok := charsets[charset]
	if !ok {
		return dst, fmt.Errorf("character set %s is not known: exclude the column, or convert it to utf8mb4", charset)
	}
	out, err := enc.NewDecoder().Bytes(b)
	if err != nil {
		return dst, fmt.Errorf("decoding text of character set %s: %w", charset, err)
	}
	return append(dst, out...), nil
}
