// Package page draws the pages of the console: the parts that a page is made of, their templates, the one
// stylesheet and the one script. It decides nothing.
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"io"
	"slices"
	"strings"
)

//go:embed *.html
var templates embed.FS

//go:embed assets/*
var assets embed.FS

// Page is one page.
type Page struct {
	Title   string // the h1
	At      string // the path of the page in the navigation that it belongs to
	Nav     []Item
	Alerts  []Notice // what is wrong, first in main
	Status  string   // what became of what a person did
	Notices []Notice // what is to be known
	Intro   string   // a sentence under the heading
	Actions []Link   // beside the heading; the first is the main one
	Blocks  []Block
	Foot    *Foot // nil where nobody is signed in
}

// Item is an entry of the navigation.
type Item struct{ Path, Title string }

// Link is a link, or a path that nobody follows where it is "".
type Link struct{ Text, Path string }

// Notice says what, why, and what to do.
type Notice struct {
	Text string
	List []string // more, one line each
	Link *Link
	Tab  bool // the link opens another tab
}

// Foot is what the page was made from.
type Foot struct{ Facts, Head, Version string }

// Block is a part of main. One of the pointers is set.
type Block struct {
	Table   *Table
	Facts   *Facts
	Tree    *Tree
	Text    *Text
	Picture *Picture
	Form    *Form
	Links   []Described // a list of links with a sentence each
}

// Described is a link with a sentence.
type Described struct {
	Link
	Sentence string
}

// Facts are names and values.
type Facts struct {
	Heading string
	Rows    []Fact
}

// Fact is a name and its values.
type Fact struct {
	Name   string
	Values []Cell
}

// Text is text in the type of a terminal.
type Text struct{ Heading, Body string }

// Picture is an image, with what it shows as text.
type Picture struct{ Source, Alt string }

// Table is a table with a caption. Without rows only Empty is shown.
type Table struct {
	Caption string
	Search  *Search
	Columns []Column
	Rows    [][]Cell
	Pages   *Pages
	Empty   Notice
}

// Column is the head of a column.
type Column struct {
	Name   string
	Number bool // its cells are numbers, to be compared
	Prose  bool // its cells are sentences, which may have several lines
}

// Cell is one cell. State colours a word.
type Cell struct {
	Text, Path string
	State      string // ok, busy, bad or idle; "" for none
	Code       bool
	Action     bool // the link does something
}

// Search is the form above a list. Keep are the other parameters of the page, by their names as Text.
type Search struct {
	Path, Query string
	Keep        []Option
}

// Pages are the pages of a list.
type Pages struct {
	Text           string // 51 to 100 of 24,000
	Previous, Next string // "" for none
	HasPages       bool
}

// Form is a form. One that is posted may write, and has a token.
type Form struct {
	Label   string
	Path    string
	Post    bool
	Hidden  []Option // names as Text
	Fields  []Field
	Consent []Field // in a group of their own, last
	Buttons []Button
}

// Button sends a form. The first is the main one.
type Button struct{ Text, Name, Value string }

// Field is a field of a form.
type Field struct {
	Name, Label, Help string
	Value             string
	Options           []Option // a choice; none for a text
	Checks            []Option // any number of these
	Values            []string // of Checks
	Suggest           []Option // values that a text may have
	Area              bool     // a text of several lines
	Error             string
}

// Checked reports whether a value of Checks is chosen.
func (f Field) Checked(value string) bool { return slices.Contains(f.Values, value) }

// Rows is how many lines a text of several lines has room for.
func (f Field) Rows() int { return min(24, max(4, strings.Count(f.Value, "\n")+3)) }

// Described are the ids of what is said about the field.
func (f Field) Described() string {
	var ids []string
	if f.Error != "" {
		ids = append(ids, "e-"+f.Name)
	}
	if f.Help != "" {
		ids = append(ids, "h-"+f.Name)
	}
	return strings.Join(ids, " ")
}

// Option is a value of a choice.
type Option struct{ Value, Text string }

// Tree is what hangs on what, as nested lists.
type Tree struct {
	Heading string
	Nodes   []Node
}

// Node is an object of a tree.
type Node struct {
	Name, Path, Note string
	State, Word      string // how it is: the colour and the word
	Children         []Node
}

// Theme draws pages.
type Theme struct {
	template *template.Template
	files    map[string]Asset // by path
}

// Asset is a file that pages need.
type Asset struct {
	Type string
	Data []byte
}

// NewTheme reads the templates and the assets.
func NewTheme() *Theme {
	t := &Theme{files: map[string]Asset{}}
	paths := map[string]string{}
	for name, kind := range map[string]string{"console.css": "text/css; charset=utf-8", "console.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml"} {
		data, err := assets.ReadFile("assets/" + name)
		if err != nil {
			panic(err) // it is embedded
		}
		sum := sha256.Sum256(data)
		path := "/assets/" + hex.EncodeToString(sum[:6]) + "/" + name
		t.files[path], paths[name] = Asset{kind, data}, path
	}
	t.template = template.Must(template.New("").Funcs(template.FuncMap{
		"asset": func(name string) string { return paths[name] },
	}).ParseFS(templates, "*.html"))
	return t
}

// Asset is the file of a path, which has its hash: it never changes.
func (t *Theme) Asset(path string) (Asset, bool) {
	a, found := t.files[path]
	return a, found
}

// Draw writes a page.
func (t *Theme) Draw(p *Page) []byte {
	var b bytes.Buffer
	if err := t.write(&b, p); err != nil {
		panic(err) // a mistake in a template
	}
	return b.Bytes()
}

func (t *Theme) write(w io.Writer, p *Page) error {
	return t.template.ExecuteTemplate(w, "page.html", p)
}
