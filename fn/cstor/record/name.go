package record

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// maxName is the longest name of an object.
//
// Source: Kubernetes, Object Names and IDs (DNS subdomain), RFC 1123.
const maxName = 253

// JoinName derives a name. One that would be too long is cut and ends in a hash
// of the whole.
func JoinName(parts ...string) string { return JoinWithin(maxName, parts...) }

// JoinWithin is JoinName for names of at most so many characters.
func JoinWithin(most int, parts ...string) string {
	name := strings.Join(parts, "-")
	if len(name) <= most {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	hash := hex.EncodeToString(sum[:4])
	return strings.TrimRight(name[:most-len(hash)-1], "-.") + "-" + hash
}

// SetName is the name of the storage set of a node.
func SetName(config, node string) string { return JoinName(config, node) }

// StorageName is the name of a cloud disk of a node.
func StorageName(config, node string, r Role, index int) string {
	if r == Data {
		return JoinName(config, node, strconv.Itoa(index))
	}
	return JoinName(config, node, string(r), strconv.Itoa(index))
}

// AttachmentName is that of the attachment of a volume to the node for which it was made.
// One to another node needs another name, since an attachment cannot change its node.
func AttachmentName(namespace, storage string) string { return JoinName(namespace, storage) }
