package folder

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/schema/finding"
)

// unread is a file that looks like input and is not read, by the name for messages.
type unread struct{ name, why string }

// whyUnread says why a file that looks like input is not read, "" for any other.
func whyUnread(path string) string {
	const only = "only .yaml, .yml and .json are read"
	ext := filepath.Ext(path)
	inner := strings.TrimSuffix(path, ext)
	switch lower := strings.ToLower(ext); {
	case isManifest(path):
	case isManifest("x" + lower):
		return only + ", in lower case; rename it"
	case slices.Contains([]string{".gz", ".bz2", ".xz", ".zst", ".zip"}, lower) &&
		(isManifest("x"+strings.ToLower(filepath.Ext(inner))) || filepath.Base(filepath.Dir(path)) == inventory.Folder):
		return only + "; unpack it"
	}
	return ""
}

// unreadFindings warn of files that look like input, and say what else can be done.
func unreadFindings(files []unread, remedy string) []finding.Finding {
	var fs []finding.Finding
	for _, f := range files {
		fs = append(fs, finding.Finding{
			Severity: finding.Warning, Rule: "not-read", Pos: at(f.name),
			Message: "looks like input, but is not read: " + f.why + remedy,
		})
	}
	return fs
}

// Reads reports whether a file of a package in memory is input for a render: a manifest, or what says
// which manifests are.
func Reads(name string) bool {
	base := filepath.Base(name)
	return isManifest(name) || isKustomizationFile(name) || base == ignoreFile || base == "Kptfile" || whyUnread(name) != ""
}
