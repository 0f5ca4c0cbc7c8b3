package toy

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/console"
	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/schema"
)

// TestForm: the console has a form for the kinds of a system that it has never heard of.
func TestForm(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "poolwright.yaml"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	s, err := console.New(console.Config{Function: fn.New(schema.Load(Definitions()), System{}), Dir: dir, Listen: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	base, token, _ := strings.Cut(s.Login(l), "/login?token=")
	request := httptest.NewRequest(http.MethodGet, base+"/specs/new?kind=Tank", nil)
	request.Header.Set("Authorization", "Bearer "+token)
	answer := httptest.NewRecorder()
	s.ServeHTTP(answer, request)
	text, err := io.ReadAll(answer.Result().Body)
	if err != nil || answer.Code != http.StatusOK {
		t.Fatalf("%v %d\n%s", err, answer.Code, text)
	}
	for _, want := range []string{
		`<label for="f-metadata.name">metadata.name</label>`, `<label for="f-spec.disks">spec.disks</label>`, "How many disks. Default: 1.",
		`<label for="f-spec.sign">spec.sign</label>`, "Whether a sign is put up. Default: false.", `<option value="true">true</option>`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the form lacks %s:\n%s", want, text)
		}
	}
}
