package console

import (
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
)

// element is an element of a page.
type element struct{ *html.Node }

func parse(t *testing.T, text string) element {
	t.Helper()
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return element{root}
}

func (e element) attr(name string) string {
	for _, a := range e.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// all are the elements of a name, in order.
func (e element) all(name string) []element {
	var found []element
	for n := range e.Descendants() {
		if n.Type == html.ElementNode && n.Data == name {
			found = append(found, element{n})
		}
	}
	return found
}

// text is what is read of an element.
func (e element) text() string {
	var b strings.Builder
	for n := range e.Descendants() {
		if n.Type == html.TextNode {
			b.WriteString(n.Data + " ")
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// table is a table by its caption: the columns, and the rows as texts.
func (e element) table(caption string) (columns []string, rows [][]string) {
	for _, t := range e.all("table") {
		if c := t.all("caption"); len(c) != 1 || c[0].text() != caption {
			continue
		}
		for i, tr := range t.all("tr") {
			var cells []string
			for n := range tr.ChildNodes() {
				if n.Type == html.ElementNode {
					cells = append(cells, element{n}.text())
				}
			}
			if i == 0 {
				columns = cells
			} else {
				rows = append(rows, cells)
			}
		}
	}
	return columns, rows
}

func withRole(e element, role string) []element {
	var found []element
	for n := range e.Descendants() {
		if (element{n}).attr("role") == role {
			found = append(found, element{n})
		}
	}
	return found
}

// TestEveryPage holds what all pages have: title, one h1, landmarks, the navigation, and tables with captions.
func TestEveryPage(t *testing.T) {
	r := serve(t, copied(t, "../examples/localvolumes"))
	for path, h1 := range map[string]string{
		"/": "Overview", "/disks": "Disks", "/specs": "Specs", "/volumes": "Volumes", "/volumegroups": "Volume Groups", "/pools": "Pools", "/plan": "Plan", "/what-if": "What-if", "/history": "History",
		"/disks/worker-1/ZA1DAT01": "Disk ZA1DAT01", "/specs/Volume/-/database": "Volume database", "/volumes/database": "Volume database", "/volumegroups/fast-worker-1": "Volume Group fast-worker-1",
	} {
		a := r.get(t, path)
		if a.code != 200 {
			t.Errorf("%s: %d", path, a.code)
			continue
		}
		e := parse(t, a.text)
		if got := e.all("title")[0].text(); got != h1+" - Poolwright" {
			t.Errorf("%s: title %q", path, got)
		}
		if got := e.all("h1"); len(got) != 1 || got[0].text() != h1 {
			t.Errorf("%s: h1 %v", path, got)
		}
		for _, landmark := range []string{"header", "main", "footer"} {
			if n := len(e.all(landmark)); n != 1 {
				t.Errorf("%s: %d of %s", path, n, landmark)
			}
		}
		first := e.all("body")[0].all("a")[0]
		if first.text() != "Skip to content" || first.attr("href") != "#main" {
			t.Errorf("%s: first is %q", path, first.text())
		}
		nav := e.all("nav")[0]
		var names, current []string
		for _, link := range nav.all("a") {
			names = append(names, link.text())
			if link.attr("aria-current") == "page" {
				current = append(current, link.attr("href"))
			}
		}
		if nav.attr("aria-label") != "Main" || strings.Join(names, ",") != "Overview,Disks,Specs,Volumes,Volume Groups,Pools,Plan,What-if,History" {
			t.Errorf("%s: navigation %q: %v", path, nav.attr("aria-label"), names)
		}
		at, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
		if len(current) != 1 || current[0] != "/"+at {
			t.Errorf("%s: current is %v", path, current)
		}
		for _, table := range e.all("table") {
			if len(table.all("caption")) != 1 {
				t.Errorf("%s: a table without a caption", path)
			}
		}
		for _, field := range append(e.all("input"), e.all("select")...) {
			id := field.attr("id")
			if field.attr("type") != "hidden" && !slices.ContainsFunc(e.all("label"), func(l element) bool { return l.attr("for") == id }) {
				t.Errorf("%s: field %q without a label", path, id)
			}
		}
		foot := e.all("footer")[0].text()
		if !strings.Contains(foot, "Facts: inventory, less than a minute old") || !strings.Contains(foot, git(t, r.dir, "rev-parse", "--short=7", "HEAD")) || !strings.Contains(foot, "Poolwright v1") {
			t.Errorf("%s: footer %q", path, foot)
		}
		if strings.Contains(a.text, " style=") || strings.Contains(a.text, "<style") || strings.Contains(a.text, " onclick") {
			t.Errorf("%s: needs unsafe-inline", path)
		}
	}
}

// TestTables holds the columns, and a row of each.
func TestTables(t *testing.T) {
	r := serve(t, copied(t, "../examples/localvolumes"))
	for _, c := range []struct{ path, caption, columns, row string }{
		{"/", "Specs", "Spec|State|Reason|Since|Message", "Volume archive|PROGRESSING|NotCreated|-|is not in the cluster yet; commit and apply it"},
		{"/disks", "Disks", "Disk|Node|Size|Kind|Serial|State|Why|Use", "/dev/nvme0n1|worker-1|894.3Gi|NVMe|S4YPNE0N200417|In use|it is taken by VolumeGroup fast-worker-1|"},
		{"/disks", "Disks", "", "/dev/sdb|worker-1|3.639Ti|HDD|ZA1DAT01|Free|-|Use"},
		{"/specs", "Specs", "Kind|Name|File|State|Findings", "VolumeGroup|fast-worker-1|volumes/group.yaml|PROGRESSING|0"},
		{"/volumes", "Volumes", "Name|Node|Type|Size|Device|Group|PV|Bound by|State", "database|worker-1|LVM LV|400Gi|-|fast|-|-|PROGRESSING"},
		{"/volumes", "Volumes", "", "archive|worker-2|Whole disk|3.639Ti|/dev/sdb|-|-|-|PROGRESSING"},
		{"/volumegroups", "Volume Groups", "Name|Node|Size|Free|Device|Volumes|State", "fast-worker-1|worker-1|894.2Gi|394.2Gi|/dev/nvme0n1|database, queue|PROGRESSING"},
		{"/history", "Commits", "Commit|Who|When|Subject|Risk|Revert", ""},
	} {
		columns, rows := parse(t, r.get(t, c.path).text).table(c.caption)
		if got := strings.Join(columns, "|"); c.columns != "" && got != c.columns {
			t.Errorf("%s: columns of %s: %s", c.path, c.caption, got)
		}
		if c.row != "" && !slices.ContainsFunc(rows, func(row []string) bool { return strings.Join(row, "|") == c.row }) {
			t.Errorf("%s: no row %s among %q", c.path, c.row, rows)
		}
	}
	_, rows := parse(t, r.get(t, "/history").text).table("Commits")
	if len(rows) != 1 || rows[0][1] != "Ann" || rows[0][3] != "Add the package" || rows[0][4] != "safe" {
		t.Errorf("history %q", rows)
	}
}

// TestPaging: 50 rows, a search, and the pages.
func TestPaging(t *testing.T) {
	r := serve(t, copied(t, "../examples/localvolumes"))
	r.write(t, "inventory/nodeinventories.yaml", nodeInventory(1234))
	e := parse(t, r.get(t, "/disks?page=2").text)
	_, rows := e.table("Disks")
	var pages element
	for _, nav := range e.all("nav") {
		if nav.attr("aria-label") == "Pages" {
			pages = nav
		}
	}
	if len(rows) != 50 || pages.Node == nil || !strings.Contains(pages.text(), "51 to 100 of 1,234") {
		t.Fatalf("%d rows", len(rows))
	}
	var links []string
	for _, a := range pages.all("a") {
		links = append(links, a.text()+" "+a.attr("href"))
	}
	if got := strings.Join(links, ", "); got != "Previous /disks?page=1, Next /disks?page=3" {
		t.Error(got)
	}
	e = parse(t, r.get(t, "/disks?q=ser0007+WORKER-1").text)
	if _, rows := e.table("Disks"); len(rows) != 1 || rows[0][4] != "SER0007" {
		t.Errorf("found %q", rows)
	}
	search := withRole(e, "search")
	if len(search) != 1 || search[0].all("input")[0].attr("type") != "search" || search[0].all("label")[0].text() != "Search" || search[0].all("input")[0].attr("value") != "ser0007 WORKER-1" {
		t.Errorf("search %v", search)
	}
	e = parse(t, r.get(t, "/disks?q=nothing").text)
	if len(e.all("table")) != 0 || !strings.Contains(e.all("main")[0].text(), `Nothing here has "nothing". Show all`) {
		t.Error(e.all("main")[0].text())
	}
	if got := decode(t, r.get(t, "/api/v1/disks?limit=500&page=3&sort=-size").text); got["total"] != 1234.0 || got["page"] != 3.0 || got["pages"] != 3.0 || len(got["items"].([]any)) != 234 {
		t.Errorf("%v of %v, page %v", len(got["items"].([]any)), got["total"], got["page"])
	} else if last := got["items"].([]any)[233].(map[string]any); last["serial"] != "SER0000" {
		t.Errorf("sorted: %v", last)
	}
	if got := decode(t, r.get(t, "/api/v1/disks?page=99").text); got["page"] != 99.0 || len(got["items"].([]any)) != 0 {
		t.Errorf("%v", got)
	}
	for _, query := range []string{"limit=501", "limit=0", "page=x", "sort=nothing", "quota=1"} {
		if a := r.get(t, "/api/v1/disks?"+query); a.code != 400 || decode(t, a.text)["code"] != "bad-request" {
			t.Errorf("%s: %d %s", query, a.code, a.text)
		}
	}
}

// TestNearest: what is not there is 404, with the nearest name.
func TestNearest(t *testing.T) {
	r := serve(t, copied(t, "../examples/localvolumes"))
	for path, near := range map[string]string{
		"/volume": "/volumes", "/volumes/databse": "/volumes/database", "/volumegroups/fast-worker-2": "/volumegroups/fast-worker-1",
		"/disks/worker-1/ZA1DAT02": "/disks/worker-1/ZA1DAT01", "/specs/Volume/-/quee": "/specs/Volume/-/queue", "/disks/worker-9/x": "", "/volumes/..%2f..%2fetc": "", "/volumes/..": "",
	} {
		a := r.get(t, path)
		e := parse(t, a.text)
		alerts := withRole(e, "alert")
		if a.code != 404 || len(alerts) != 1 {
			t.Errorf("%s: %d, %d alerts", path, a.code, len(alerts))
			continue
		}
		if links := alerts[0].all("a"); near != "" && (len(links) != 1 || links[0].attr("href") != near) {
			t.Errorf("%s: %q", path, alerts[0].text())
		}
	}
	if a := r.get(t, "/api/v1/disk"); a.code != 404 || decode(t, a.text)["code"] != "not-found" {
		t.Errorf("%d %s", a.code, a.text)
	}
}

// TestUnreadable: what cannot be read is an alert with its place, and the rest stands.
func TestUnreadable(t *testing.T) {
	r := serve(t, copied(t, "../examples/localvolumes"))
	r.write(t, "volumes/volumes.yaml", "apiVersion: v1\nkind: [\n")
	for _, path := range []string{"/", "/disks", "/volumegroups", "/plan"} {
		a := r.get(t, path)
		e := parse(t, a.text)
		alerts := withRole(e, "alert")
		if a.code != 200 || len(alerts) == 0 || !strings.Contains(alerts[0].text(), "volumes/volumes.yaml:") {
			t.Errorf("%s: %d, %v", path, a.code, alerts)
		}
	}
	if _, rows := parse(t, r.get(t, "/disks").text).table("Disks"); len(rows) != 9 {
		t.Errorf("%d disks", len(rows))
	}
	_, rows := parse(t, r.get(t, "/").text).table("Waiting for you")
	if len(rows) == 0 || !strings.Contains(rows[0][0], "volumes/volumes.yaml:") {
		t.Errorf("waiting: %q", rows)
	}
}

// TestNotices: a folder outside of Git, a detached HEAD, and old facts are said.
func TestNotices(t *testing.T) {
	dir := copied(t, "../examples/localvolumes")
	r := serve(t, dir)
	main := func() string { return parse(t, r.get(t, "/").text).all("main")[0].text() }
	if text := main(); strings.Contains(text, "Nothing can be changed") || strings.Contains(text, "old, and may") {
		t.Error(text)
	}
	r.now = time.Now().Add(49 * time.Hour)
	r.get(t, "/login?token="+r.token) // the session is over
	if text := main(); !strings.Contains(text, "The inventory is 2 days old, and may no longer be what the cluster is. Run poolwright inventory -o "+dir+"/inventory, and commit it.") {
		t.Error(text)
	}
	git(t, dir, "checkout", "-q", "--detach")
	if text := main(); !strings.Contains(text, "HEAD is detached") {
		t.Error(text)
	}
	plain := t.TempDir()
	r = serve(t, plain)
	text := main()
	for _, want := range []string{"Nothing can be changed here: ", "is not in a Git work tree", "There is no spec in this package", "The inventory contains no nodes."} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	for _, path := range []string{"/disks", "/specs", "/volumes", "/volumegroups", "/pools", "/plan", "/what-if", "/history"} {
		if e := parse(t, r.get(t, path).text); path != "/plan" && len(e.all("table")) != 0 {
			t.Errorf("%s has a table", path)
		}
	}
}

// TestWhatIf: a loss, and a mistake at its field.
func TestWhatIf(t *testing.T) {
	r := serve(t, copied(t, "../examples/cstor-local"))
	e := parse(t, r.get(t, "/what-if?lose=node&object=nix").text)
	alerts := withRole(e, "alert")
	field := e.all("input")[len(e.all("input"))-1]
	for _, in := range e.all("input") {
		if in.attr("name") == "object" {
			field = in
		}
	}
	if len(alerts) != 1 || !strings.Contains(alerts[0].text(), "nix") || field.attr("aria-invalid") != "true" || field.attr("aria-describedby") != "e-object h-object" || field.attr("value") != "nix" {
		t.Errorf("%v, field %v", alerts, field.Attr)
	}
}
