package web

import (
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// MediaRange is an entry of Accept or Accept-Encoding.
type MediaRange struct {
	name    string
	quality float64
}

// ParseAccept reads a list with qualities. What is malformed accepts nothing.
func ParseAccept(values []string) []MediaRange {
	var ranges []MediaRange
	for _, entry := range strings.Split(strings.Join(values, ","), ",") {
		name, parameters, err := mime.ParseMediaType(entry)
		if err != nil {
			continue
		}
		q := 1.0
		if text, given := parameters["q"]; given {
			if q, err = strconv.ParseFloat(text, 64); err != nil || q < 0 || q > 1 {
				continue
			}
		}
		ranges = append(ranges, MediaRange{name, q})
	}
	return ranges
}

// Quality is how much a client wants a type: what the most specific range says.
func Quality(ranges []MediaRange, name string) float64 {
	group, _, _ := strings.Cut(name, "/")
	for _, pattern := range []string{name, group + "/*", "*/*"} {
		best := -1.0
		for _, r := range ranges {
			if r.name == pattern {
				best = max(best, r.quality)
			}
		}
		if best >= 0 {
			return best
		}
	}
	return 0
}

// AcceptsGzip reports whether an answer may be packed.
func AcceptsGzip(r *http.Request) bool {
	ranges := ParseAccept(r.Header.Values("Accept-Encoding"))
	for _, name := range []string{"gzip", "*"} {
		if i := slices.IndexFunc(ranges, func(m MediaRange) bool { return m.name == name }); i >= 0 {
			return ranges[i].quality > 0
		}
	}
	return false
}
