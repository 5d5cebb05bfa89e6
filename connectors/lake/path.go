package lake

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/penstockio/penstock/connect-api"
)

// maxSegment bounds a folder's name: file systems allow 255 bytes, object stores 1024 for a whole key.
const maxSegment = 240

const hexDigits = "0123456789ABCDEF"

// appendEscaped percent-encodes all bytes but letters, digits and - _ . ~, so that the result is one part of a path on
// any store (I4) and is decoded by readers of Hive partitions.
func appendEscaped(dst []byte, s string) []byte {
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' || c == '~' {
			dst = append(dst, c)
			continue
		}
		dst = append(dst, '%', hexDigits[c>>4], hexDigits[c&15])
	}
	return dst
}

// folderName is a topic's folder: never hidden, never a step up.
func folderName(topic string) string {
	name := string(appendEscaped(nil, topic))
	if strings.HasPrefix(name, ".") {
		return "%2E" + name[1:]
	}
	if name == "" {
		return "%"
	}
	return name
}

// checkSegments refuses folder names that a store would.
func checkSegments(dir string) error {
	for part := range strings.SplitSeq(dir, "/") {
		if len(part) > maxSegment {
			return connectapi.DataError(fmt.Errorf("the folder %.60s… would have a name of %d bytes, more than %d", part, len(part), maxSegment))
		}
	}
	return nil
}

// fileName is {topic}+{partition}+{first offset}.parquet; last >= 0 adds -{last offset}.
func fileName(tp connectapi.TopicPartition, first, last int64, pad int) string {
	b := append([]byte(folderName(tp.Topic)), '+')
	b = strconv.AppendInt(b, int64(tp.Partition), 10)
	b = fmt.Appendf(b, "+%0*d", pad, first)
	if last >= 0 {
		b = fmt.Appendf(b, "-%0*d", pad, last)
	}
	return string(append(b, ".parquet"...))
}

// tempPrefix is what names of unfinished local files of a topic partition begin with.
func tempPrefix(tp connectapi.TopicPartition) string {
	return folderName(tp.Topic) + "+" + strconv.Itoa(int(tp.Partition)) + "+"
}
