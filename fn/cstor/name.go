package cstor

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// maxName is the longest name of an object.
//
// Source: Kubernetes, Object Names and IDs (DNS subdomain), RFC 1123.
const maxName = 253

// role is what a disk is for.
type role string

const (
	data  role = "data"
	cache role = "cache"
	spare role = "spare"
	// leaving is a disk that has left its pool, and that something live still shows there.
	leaving role = "leaving"
)

// names derives the names of what is rendered for one spec, whose own these are.
type names struct{ namespace, name string }

func (n names) storageSet(node string) string { return storageSetName(n.name, node) }

func (n names) storage(node string, r role, index int) string {
	return storageName(n.name, node, r, index)
}

func (n names) claimID(storage string) krm.ID {
	return krm.ID{Kind: volumeClaimKind, Namespace: n.namespace, Name: storage}
}

func (n names) storageID(storage string) krm.ID {
	return krm.ID{Group: daoGroup, Kind: storageKind, Namespace: n.namespace, Name: storage}
}

// storage is the name of a volume of a node, which keeps it when the pool goes elsewhere.
func (e *existing) storage(node string, r role, index int) string {
	return e.names.storage(e.lock.volumesOf(node), r, index)
}

// attachmentID is the attachment of a volume to a node.
func (l *lock) attachmentID(namespace, storage, node string) krm.ID {
	id := krm.ID{Group: storageGroup, Kind: volumeAttachmentKind, Name: attachmentName(namespace, storage)}
	if l.volumesOf(node) != node {
		id.Name = joinName(namespace, storage, node)
	}
	return id
}

// volumesOf is the node by whose name the volumes of a node are called.
func (l *lock) volumesOf(node string) string { return cmp.Or(l.sets[node].volumesOf, node) }

func (n names) storageRef(storage string) finding.Ref {
	return finding.Ref{APIVersion: daoVersion, Kind: storageKind, Namespace: n.namespace, Name: storage}
}

func (n names) deviceRef(device string) finding.Ref {
	return finding.Ref{APIVersion: deviceVersion, Kind: blockDeviceKind, Namespace: n.namespace, Name: device}
}

// joinName derives a name. One that would be too long is cut and ends in a hash
// of the whole.
func joinName(parts ...string) string { return joinWithin(maxName, parts...) }

// joinWithin is joinName for names of at most so many characters.
func joinWithin(most int, parts ...string) string {
	name := strings.Join(parts, "-")
	if len(name) <= most {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	hash := hex.EncodeToString(sum[:4])
	return strings.TrimRight(name[:most-len(hash)-1], "-.") + "-" + hash
}

func storageSetName(config, node string) string { return joinName(config, node) }

func storageName(config, node string, r role, index int) string {
	if r == data {
		return joinName(config, node, strconv.Itoa(index))
	}
	return joinName(config, node, string(r), strconv.Itoa(index))
}

// attachmentName is that of the attachment of a volume to the node for which it was made.
// One to another node needs another name, since an attachment cannot change its node.
func attachmentName(namespace, storage string) string { return joinName(namespace, storage) }
