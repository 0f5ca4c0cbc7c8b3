package cstor

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// maxName is the longest name of an object (DNS subdomain, RFC 1123).
const maxName = 253

// role is what a disk is for.
type role string

const (
	data  role = "data"
	cache role = "cache"
	spare role = "spare"
)

// joinName derives a name. One that would be too long is cut and ends in a hash
// of the whole.
func joinName(parts ...string) string {
	name := strings.Join(parts, "-")
	if len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	hash := hex.EncodeToString(sum[:4])
	return strings.TrimRight(name[:maxName-len(hash)-1], "-.") + "-" + hash
}

func storageSetName(config, node string) string { return joinName(config, node) }

func storageName(config, node string, r role, index int) string {
	if r == data {
		return joinName(config, node, strconv.Itoa(index))
	}
	return joinName(config, node, string(r), strconv.Itoa(index))
}

func attachmentName(namespace, storage string) string { return joinName(namespace, storage) }
