package console

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/console/edit"
	"github.com/poolwright/poolwright/console/page"
	"github.com/poolwright/poolwright/console/view"
	"github.com/poolwright/poolwright/controller/hydration"
	"github.com/poolwright/poolwright/controller/worktree"
)

// revertForm is the page that takes back what a commit did to the files of people; the output is rendered again.
func revertForm(x *exchange, _ url.Values) (*form, *problem) {
	all, err := x.commits()
	if err != nil {
		return nil, refuse(http.StatusInternalServerError, "internal", "%v", err)
	}
	i := slices.IndexFunc(all, func(e worktree.Entry) bool { return e.Hash.String() == x.names["commit"] })
	if i < 0 {
		return nil, missing("commit "+x.names["commit"]+" of this package", "")
	}
	hash := all[i].Hash.String()
	subject, _, _ := strings.Cut(all[i].Message, "\n")
	f := &form{title: "Revert " + hash[:shortHash], path: view.Path("history", hash, "revert"), back: "/history"}
	f.before = []page.Block{{Facts: &page.Facts{Rows: []page.Fact{fact("Subject", plain(subject)), fact("Who", plain(all[i].Author.Name)), fact("When", when(all[i].Time))}}}}
	before, after, err := x.work.Changed(all[i].Hash, func(name string) bool { return hydration.Reads(name) && !hydration.Made(name) })
	if err != nil {
		return nil, refuse(http.StatusInternalServerError, "internal", "%v", err)
	}
	f.writing = writing{fmt.Sprintf("Revert %q", subject), func(base *view.View) (edit.Files, *problem) {
		change := edit.Files{}
		names := maps.Clone(before)
		if names == nil {
			names = map[string][]byte{}
		}
		maps.Copy(names, after)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			was, had := before[name]
			is, has := after[name]
			if had == has && bytes.Equal(was, is) {
				continue
			}
			now, there := base.Files[name]
			if there != has || !bytes.Equal(now, is) {
				return nil, refuse(http.StatusUnprocessableEntity, "findings", "%s was changed again after this commit; change it by hand", name)
			}
			if change[name] = nil; had {
				change[name] = was
			}
		}
		if len(change) == 0 {
			return nil, refuse(http.StatusUnprocessableEntity, "findings", "the commit changed no file that people write, so there is nothing to revert")
		}
		return change, nil
	}}
	return f, nil
}
