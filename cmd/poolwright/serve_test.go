package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"weak"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/encoding/jsonschema"

	"github.com/poolwright/poolwright/folder"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/service"
)

// asking is a request, and the answer that the command line gives.
type asking struct {
	path, accept, body, want string
	code                     int // the exit code
}

// TestServedAsCommands holds that the answers are those of the command line, for every example
// and every package of the fixtures, also while 100 others are asked for, and that they are what
// the OpenAPI document says.
func TestServedAsCommands(t *testing.T) {
	url := served(t)
	described := describedAt(t, url)
	var questions []asking
	for _, pattern := range []string{"../../examples/*/*.yaml", "../../testdata/packages/*/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(err, pattern)
		}
		for _, file := range files {
			if dir := filepath.Dir(file); len(questions) == 0 || questions[len(questions)-1].path != dir {
				questions = append(questions, asking{path: dir})
			}
		}
	}
	dirs := questions
	questions = nil
	home, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		t.Chdir(home)
		dir := filepath.Join(t.TempDir(), "package")
		list := packageAsList(t, d.path, dir)
		t.Chdir(dir)
		questions = append(questions, asked(list)...)
	}
	t.Chdir(home)
	if len(questions) < 300 {
		t.Errorf("only %d questions", len(questions))
	}
	for i := range questions {
		check(t, url, &questions[i], described)
	}
	var all sync.WaitGroup
	limit := make(chan struct{}, 100)
	for i := range questions {
		limit <- struct{}{}
		all.Go(func() {
			check(t, url, &questions[i], nil)
			<-limit
		})
	}
	all.Wait()
}

// served is a server with all verbs, and its URL.
func served(t *testing.T) string {
	t.Helper()
	f := serveFlags{maxBody: defaultBody}
	f.Slots, f.Queue, f.Timeout, f.Shutdown, f.Listen = 4, 1000, 10*time.Minute, time.Minute, "127.0.0.1:0"
	if err := f.check(false); err != nil {
		t.Fatal(err)
	}
	f.Log = service.NewLog(io.Discard, "text")
	server, err := newServer(program{function: poolwright()}, &f)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := server.Listen()
	if err != nil {
		t.Fatal(err)
	}
	signals, ended := make(chan os.Signal, 1), make(chan error, 1)
	go func() { ended <- server.Serve(listener, signals) }()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		signals <- syscall.SIGTERM
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return server.URL(listener)
}

// asked are the questions about the package in the current folder.
func asked(list string) []asking {
	cli := func(stdin string, args ...string) (string, int) {
		var out bytes.Buffer
		code := program{streams: streams{in: strings.NewReader(stdin), out: &out, err: io.Discard}, function: poolwright()}.run(args)
		return out.String(), code
	}
	want, code := cli(list, "fn")
	questions := []asking{{"/v1/fn", "", list, want, code}}
	for _, v := range verbs() {
		if v.route == nil {
			continue
		}
		cmd := v.make(program{streams: streams{verbose: new(bool)}, function: poolwright()})
		var args []string
		if cmd.Flag("from") != nil {
			args = append(args, "--from", fromInventory)
		}
		for _, form := range forms(cmd.Flag("output")) {
			if form.Word == "" || form.Word == string(asTable) {
				continue // for people, with what goes to stderr
			}
			want, code := cli("", append([]string{cmd.Name(), "-o", form.Word}, args...)...)
			questions = append(questions, asking{"/v1/" + cmd.Name(), form.Type, list, want, code})
		}
	}
	return questions
}

func check(t *testing.T, url string, q *asking, described *description) {
	req, err := http.NewRequest(http.MethodPost, url+q.path, strings.NewReader(q.body))
	if err != nil {
		t.Error(err)
		return
	}
	req.Header.Set("Content-Type", "application/yaml")
	if q.accept != "" {
		req.Header.Set("Accept", q.accept)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Error(err)
		return
	}
	name := fmt.Sprintf("%s %s", q.path, q.accept)
	if got := res.Header.Get("Poolwright-Exit-Code"); got != strconv.Itoa(q.code) {
		t.Errorf("%s: exit code %s, want %d\n%s", name, got, q.code, text)
	}
	kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	if kind == "application/problem+json" {
		if res.StatusCode != http.StatusUnprocessableEntity || q.code != exitFailed {
			t.Errorf("%s: %d, exit code %d\n%s", name, res.StatusCode, q.code, text)
		}
	} else if string(text) != q.want {
		t.Errorf("%s: got\n%s\nwant\n%s", name, text, q.want)
	}
	if described != nil {
		described.check(t, q.path, res.StatusCode, kind, text)
	}
}

// packageAsList copies a package, each file in the form in which a tool would keep it, and
// returns the same as a ResourceList.
func packageAsList(t *testing.T, from, to string) string {
	t.Helper()
	list := "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
	text, _ := os.ReadFile(filepath.Join(from, ".krmignore")) // most have none
	ignored := strings.Fields(strings.ReplaceAll(string(text), "/", ""))
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && slices.Contains(ignored, e.Name()) {
			return fs.SkipDir
		}
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if filepath.Ext(path) == ".yaml" {
			var items string
			if data, items = fileAsItems(t, data, filepath.ToSlash(name)); items == "" {
				return nil // nothing in it, or a patch: no item
			}
			list += items
		}
		target := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o777); err != nil {
			return err
		}
		return os.WriteFile(target, data, 0o666)
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// fileAsItems splits a file. What has its metadata on one line is written again.
func fileAsItems(t *testing.T, data []byte, name string) (file []byte, items string) {
	t.Helper()
	docs, err := document.Parse(&document.Source{Name: name, Data: data})
	if err != nil {
		t.Fatal(err)
	}
	for i := range docs {
		d := &docs[i]
		if d.Node.Kind() != document.Map {
			continue
		}
		text := strings.Trim(string(data[d.Start:d.End]), "\n") + "\n"
		at := "metadata:\n"
		if d.Node.Get("metadata", "annotations") != nil {
			at = "  annotations:\n"
		}
		bare := d.Node.Get("metadata") == nil // a kustomization
		if !bare && !strings.Contains(text, at) {
			text = string(document.Append(nil, &d.Node, 0))
		}
		added := fmt.Sprintf("    internal.config.kubernetes.io/path: '%s'\n    internal.config.kubernetes.io/index: '%d'\n", name, i)
		if at == "metadata:\n" {
			added = "  annotations:\n" + added
		}
		head, tail, found := strings.Cut("\n"+text, "\n"+at)
		if bare {
			head = strings.TrimSuffix(head, "\n")
		}
		if !bare && !found {
			t.Fatalf("%s has metadata of another form:\n%s", name, text)
		}
		lead := "- "
		for line := range strings.Lines(strings.TrimPrefix(head+"\n", "\n") + at + added + tail) {
			if strings.TrimSpace(line) == "" {
				lead = ""
			}
			items += lead + line
			lead = "  "
		}
		if i > 0 {
			file = append(file, "---\n"...)
		}
		file = append(file, text...)
	}
	return file, items
}

// description is the OpenAPI document, for checks of what was answered.
type description struct {
	paths map[string]map[string]struct {
		Responses map[string]struct {
			Content map[string]struct{ Schema json.RawMessage }
		}
	}
	definitions json.RawMessage
	cue         *cue.Context
	schemas     map[string]cue.Value
}

func describedAt(t *testing.T, url string) *description {
	t.Helper()
	res, err := http.Get(url + "/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.ReplaceAll(text, []byte("#/components/schemas/"), []byte("#/$defs/"))
	var d struct {
		Paths      json.RawMessage
		Components struct{ Schemas json.RawMessage }
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	described := &description{definitions: d.Components.Schemas, cue: cuecontext.New(), schemas: map[string]cue.Value{}}
	if err := json.Unmarshal(d.Paths, &described.paths); err != nil {
		t.Fatal(err)
	}
	return described
}

func (d *description) check(t *testing.T, path string, code int, kind string, body []byte) {
	content, found := d.paths[path]["post"].Responses[strconv.Itoa(code)].Content[kind]
	if !found {
		t.Errorf("the OpenAPI document has no %s %d %s", path, code, kind)
		return
	}
	if !strings.HasSuffix(kind, "json") {
		return
	}
	if err := d.validate(string(content.Schema), body); err != nil {
		t.Errorf("%s %d: %v\nin\n%s", path, code, err, body)
	}
}

// validate checks a body with the schema, as CUE understands it.
func (d *description) validate(schema string, body []byte) error {
	compiled, known := d.schemas[schema]
	if !known {
		text := strings.TrimSuffix(strings.TrimSpace(schema), "}")
		whole := d.cue.CompileString(fmt.Sprintf(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": %s, %s}`, d.definitions, strings.TrimPrefix(text, "{")))
		file, err := jsonschema.Extract(whole, &jsonschema.Config{})
		if err != nil {
			return err
		}
		compiled = d.cue.BuildFile(file)
		if err := compiled.Err(); err != nil {
			return err
		}
		d.schemas[schema] = compiled
	}
	value := d.cue.CompileBytes(body)
	return compiled.Unify(value).Validate(cue.Concrete(true))
}

// TestDescribed: the check of the answers can fail.
func TestDescribed(t *testing.T) {
	d := describedAt(t, served(t))
	for body, fine := range map[string]bool{
		`[]`: true, `[{"severity":"error","message":"x"}]`: true, `[{"severity":"error"}]`: false,
		`[{"severity":"error","message":1}]`: false, `[{"severity":"error","message":"x","more":1}]`: false, `{}`: false,
	} {
		content := d.paths["/v1/vet"]["post"].Responses["200"].Content["application/json"]
		if err := d.validate(string(content.Schema), []byte(body)); (err == nil) != fine {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// TestServedFlags: no parameter names a file, a cluster or a URL; a new flag is added by hand.
func TestServedFlags(t *testing.T) {
	want := map[string]string{
		"vet": "output verbose", "explain": "output chosen summary verbose object", "preview": "output verbose object",
		"plan": "output summary fail-on verbose", "status": "output namespace verbose", "verify": "output verbose object",
		"tree": "output namespace planned unhealthy verbose object", "what-if": "output every require verbose change",
	}
	for _, v := range verbs() {
		if v.route == nil {
			continue
		}
		s := program{function: poolwright()}.served(v)
		var names []string
		for _, p := range s.Parameters {
			names = append(names, p.Name)
		}
		if got := strings.Join(names, " "); got != want[s.Name] {
			t.Errorf("%s has %q, want %q", s.Name, got, want[s.Name])
		}
		if i := slices.IndexFunc(s.Forms, func(f service.Form) bool { return f.Type == "" }); i >= 0 || s.Forms[0].Word != "json" {
			t.Errorf("%s has the forms %v", s.Name, s.Forms)
		}
		// Only these words stand for arguments in a Use (program.call).
		for _, word := range strings.Fields(v.make(program{streams: streams{verbose: new(bool)}, function: poolwright()}).Use)[1:] {
			if word != "[DIR]" && word != "[KIND/NAME]" && word != "[CHANGE]..." {
				t.Errorf("%s takes %s, which no parameter gives", s.Name, word)
			}
		}
		delete(want, s.Name)
	}
	if len(want) > 0 {
		t.Errorf("not served: %v", want)
	}
}

// TestRequestLeavesNothing: the command of a request is garbage after it; cobra would keep what
// completes its flags, and with it the package.
func TestRequestLeavesNothing(t *testing.T) {
	p := program{streams: streams{verbose: new(bool)}, function: poolwright(), memory: folder.Memory{}}
	for _, v := range verbs() {
		if v.route == nil {
			continue
		}
		cmd := weak.Make(p.command(v))
		runtime.GC()
		if left := cmd.Value(); left != nil {
			t.Errorf("%s is still there", left.Name())
		}
	}
}
