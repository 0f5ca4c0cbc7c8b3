// Package findings_test holds that what the product says is shown by a test, so that
// somebody has read it as a user would.
package findings_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// unshown are the findings that no test shows, and why none can.
var unshown = map[string]string{
	"%d of its %d replicas are in zone %s: without that zone it stops":  later,
	"%s %s; apply, refresh the inventory, render again":                 later,
	", on which the webhook fails with every change":                    later,
	"-n %s: of kind %s there are only inventories of the namespaces %s": later,
	"DiskPool %s lives on node %s, what is rendered has lost it, and the node is no longer selected; want it again, or, to have the pool removed, %s":    later,
	"allow the tag with the annotation openebs.io/allowed-bd-tags":                                                                                       later,
	"apply the removal, wait until its CStorPoolInstance is gone, then add":                                                                              later,
	"block device %s is rendered as part of the pool on node %s, is not in the live one, and cannot be used any more: %s; its RAID group is chosen anew": later,
	"bring the BlockDevice back": later,
	"cannot be completed: %v; this is a mistake in Poolwright, please report it":                                                                                         later,
	"claims BlockDevice %s for a replacement that is not in the CStorPoolCluster: the webhook refused it, or was only asked; delete the claim, or apply the replacement": later,
	"has no volume: %s %s, and all that hangs on it, is missing; what was on it can only come back from a backup":                                                        later,
	"has no volume: %s is %s; what the operators say is in its events":                                                                                                   later,
	"has no volume: StorageClass %q is not there, or not of cStor":                                                                                                       later,
	"is %d, and a pool by %s has %s, with its write cache; write at least %d, for three pools, or remove it":                                                             later,
	"is %d, and volumes are pinned to %s; write %d, or make a class of another name":                                                                                     later,
	"is Degraded, and all its replicas are Healthy":                                                                                                                      later,
	"is being deleted, and has no volume":                                                                                                                                later,
	"is being taken out of the volume of %s":                                                                                                                             later,
	"is bound to PersistentVolume %s, which is not of cStor":                                                                                                             later,
	"is compared here and not tried with the API server, which takes rights that nobody should have for a plan: what it would default or refuse is not known%v":          later,
	"is for %s, which is bound to %q":                                                                                                                                    later,
	"is here, and what it applies is not, which says what was chosen: kustomize shows the function only what is listed; use poolwright build, or poolwright render and no function": later,
	"is in namespace %v, where the operators do not look for it":                                                                                later,
	"is left over: no PersistentVolume and no claim is there for it; delete the config once nobody needs what is on the volume":                 later,
	"is missing, and %s %s its own; apply it again":                                                                                             later,
	"is not bound to BlockDevice %s, but %s":                                                                                                    later,
	"is not compared with the cluster%v: there is no permission to list %v; ask for it, or compare with kubectl diff":                           later,
	"is of another pool, which it may still hold: it has a filesystem: zfs_member":                                                              later,
	"is on CStorPoolInstance %q, which is missing":                                                                                              later,
	"is rendered and missing, and its volume %s is kept; a claim that is made anew gets another volume, unless it names this one as volumeName": later,
	"is rendered for %s, and lives as the output of %s":                                                                                         later,
	"is there, and %s is %s": later,
	"it cannot go yet: it has no CStorPoolInstance, and the webhook fails on that":                                                                                                     later,
	"it was removed, and its CStorPoolInstance %s is still there: if a pool comes before that is gone, neither is ever carried out":                                                    later,
	"its StorageClass %q is neither in the package nor among the facts, so that nothing is made":                                                                                       later,
	"its claim is now bound to volume %s, and %s is attached in its place; an attachment cannot change its volume: bind the claim to %s again, or remove the node's pool with consent": later,
	"its inventory was exchanged each of the %d times that it was read, so that nothing is known for sure; wait until nobody writes it, and try again":                                 later,
	"move them to other pools first":                     later,
	"must be above %v, not %v":                           later,
	"must be below %v, not %v":                           later,
	"names no pool, and the volume of %s should have %s": later,
	"node %s gets no pool yet: %s":                       later,
	"node %s gets no pool yet: there are as many as maxPoolCount allows; raise it, or let another go":                        later,
	"of kind %s there are inventories of the namespaces %s, and none of all; take one of all, or name one namespace with -n": later,
	"put the disk back, or move the pool with all its disks":                                                                 later,
	"renders what is not there, too: %v":                                                                                     later,
	"set it to the host of the pool first: kubectl label cspi -n %s %s kubernetes.io/hostname=%s --overwrite":                later,
	"take it anew with poolwright inventory, and render again before this is applied":                                        later,
	"take one that is as large":    later,
	"take writeCacheGroupType out": later,
	"the CStorPoolCluster cannot go: %s on it: %s; delete their claims, or move what is on them, first":                                                                                                   later,
	"the inventory of the package is not what the cluster has now, with which %s would be rendered otherwise; take it anew with poolwright inventory":                                                     later,
	"the pool on node %s has more disks than the rendered CStorPoolCluster knows: %s; restore it in rendered/ from Git":                                                                                   later,
	"the pool on node %s is no longer wanted, and would be lost; annotate the config with %s":                                                                                                             later,
	"the pool on node %s is rendered and not applied, and waits while its node is missing from the inventory: the cStor webhook refuses a CStorPoolCluster with a pool that selects no node":              later,
	"the pool on node %s lives with block devices %s, as its CStorPoolInstance shows, and is rendered with %s, which it cannot become (%s); restore it in rendered/ from Git, or take the inventory anew": later,
	"the webhook refuses CStorVolumeConfig %s: Can't perform more than one replica scale down requested scale down count %d; take out one pool at a time":                                                 later,
	"unknown field %q; remove it":                                                  later,
	"until it is back, or its pool is let go, every other change is refused":       later,
	"until the node is back, or the pool is let go, every other change is refused": later,
	"wait for the instance, take the inventory anew, render again":                 later,
	"wait until the instance is gone, take the inventory anew, render again":       later,
}

const later = "a script has to be written"

// TestShown: every wording of a finding is in the expected output of a script or a story, in
// that of a document (testdata/documents), or in a test in Go.
func TestShown(t *testing.T) {
	lines := expected(t)
	all := wordings(t)
	if len(all) < 500 {
		t.Fatalf("found only %d wordings", len(all))
	}
	exceptions := map[string]bool{}
	for _, w := range all {
		_, exception := unshown[w.format]
		exceptions[w.format] = exception
		switch shown := isShown(w.format, lines); {
		case !shown && !exception:
			t.Errorf("no test shows %s", w)
		case shown && exception:
			t.Errorf("a test shows %s: take it out of the list", w)
		}
	}
	for format := range unshown {
		if !exceptions[format] {
			t.Errorf("nothing says %q: take it out of the list", format)
		}
	}
}

// expected are the lines of all tests but these, without backslashes, which a regular
// expression, a string in Go and JSON have in different places.
func expected(t *testing.T) []string {
	t.Helper()
	var text strings.Builder
	err := filepath.WalkDir("../..", func(path string, e fs.DirEntry, err error) error {
		path = filepath.ToSlash(path)
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == ".git" || e.Name() == "bin" || path == "../../test/findings"):
			return filepath.SkipDir
		case e.IsDir():
			return nil
		case strings.HasSuffix(path, "_test.go"),
			strings.HasPrefix(path, "../../cmd/poolwright/testdata/"),
			strings.HasPrefix(path, "../../testdata/documents/"):
			data, err := os.ReadFile(path)
			text.Write(data)
			text.WriteByte('\n')
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.ReplaceAll(text.String(), `\`, ""), "\n")
}

var verb = regexp.MustCompile(`%[-+# 0]*(\[\d+\])?[\d.]*[a-zA-Z]`)

// isShown reports whether a line has all that a format has between its verbs, in its order.
func isShown(format string, lines []string) bool {
	parts := verb.Split(strings.ReplaceAll(format, `\`, ""), -1)
	longest := ""
	for i := range parts {
		parts[i] = strings.ReplaceAll(parts[i], "%%", "%")
		if len(parts[i]) > len(longest) {
			longest = parts[i]
		}
	}
	for _, line := range lines {
		if strings.Contains(line, longest) && hasAll(line, parts) {
			return true
		}
	}
	return false
}

func hasAll(line string, parts []string) bool {
	for _, part := range parts {
		_, after, found := strings.Cut(line, part)
		if !found {
			return false
		}
		line = after
	}
	return true
}
