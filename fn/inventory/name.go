package inventory

import "strings"

// What Kubernetes takes as the name of most objects and as the value of a label. A
// snapshot is a file, which may say anything. Written out here, since the regular
// expressions of apimachinery take as long as reading a device does.
const (
	nameRule  = "lower case letters, digits, - and ., at most 253"
	labelRule = "letters, digits, -, _ and ., at most 63"
)

// isSubdomain reports whether a name is a subdomain of RFC 1123.
func isSubdomain(name string) bool {
	if len(name) > 253 {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if !isWord(label, "-", false) {
			return false
		}
	}
	return true
}

// isLabelValue reports whether a text that is not empty may be the value of a label.
func isLabelValue(value string) bool { return len(value) <= 63 && isWord(value, "-_.", true) }

// isWord reports whether a text has only letters, digits and the marks, which neither
// begin nor end it.
func isWord(text, marks string, upper bool) bool {
	for i := range len(text) {
		c := text[i]
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', upper && 'A' <= c && c <= 'Z':
		case i > 0 && i < len(text)-1 && strings.IndexByte(marks, c) >= 0:
		default:
			return false
		}
	}
	return text != ""
}
