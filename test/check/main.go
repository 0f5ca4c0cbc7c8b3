// Command check gives a signal in a minute: it vets what a change touches and what depends on it, runs the tests
// of the packages and the scripts that it touches, as short as they can be, and four random histories. It says
// what it ran, and what that took.
//
//	go run ./test/check                  what git diff shows, with a clean tree the last commit
//	go run ./test/check -system cstor    a system
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	system := flag.String("system", "", "check this storage system, a folder of fn, whatever has changed")
	flag.Parse()
	if err := check(*system); err != nil {
		fmt.Fprintln(os.Stderr, "check:", err)
		os.Exit(1)
	}
}

const module = "github.com/poolwright/poolwright/"

func check(system string) error {
	began := time.Now()
	t, err := readTree()
	if err != nil {
		return err
	}
	var files []string
	switch {
	case system == "":
		if files, err = changed(); err != nil {
			return err
		}
	case !slices.Contains(t.systems, system):
		return fmt.Errorf("there is no system %s: %s", system, strings.Join(t.systems, ", "))
	}
	c := t.choose(files, system)
	steps, err := c.steps(t)
	if err != nil {
		return err
	}
	failed := 0
	for _, s := range steps {
		at := time.Now()
		cmd := exec.Command("go", s.args...)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		err := cmd.Run()
		if err != nil {
			failed++
		}
		fmt.Printf("check: %s: %s, %.1f s\n", s.what, map[bool]string{true: "ok", false: "FAILED"}[err == nil], time.Since(at).Seconds())
	}
	for _, dir := range c.left {
		fmt.Printf("check: left to make test: %s\n", dir)
	}
	fmt.Printf("check: %.1f s\n", time.Since(began).Seconds())
	if failed > 0 {
		return fmt.Errorf("%d of %d failed", failed, len(steps))
	}
	return nil
}

// step is a run of the go command.
type step struct {
	what string
	args []string
}

// steps are what is run for a choice: what fails soonest first.
func (c choice) steps(t tree) ([]step, error) {
	var steps []step
	var vetted, tested []string
	for _, dir := range c.packages {
		vetted = append(vetted, module+dir)
		// The scripts have a run of their own, and the virtual machine is not for a minute.
		if dir != "cmd/poolwright" {
			tested = append(tested, "./"+dir)
		}
	}
	if len(vetted) > 0 {
		dependents, err := dependents(vetted)
		if err != nil {
			return nil, err
		}
		steps = append(steps, step{fmt.Sprintf("vet of %d packages, and of %d that depend on them", len(vetted), len(dependents)), append(append([]string{"vet"}, vetted...), dependents...)})
	}
	if len(tested) > 0 {
		steps = append(steps, step{"tests of " + strings.Join(tested, " "), append([]string{"test", "-vet=off", "-short"}, tested...)})
	}
	if len(tested) < len(vetted) {
		steps = append(steps, step{"tests of ./cmd/poolwright but scripts", []string{"test", "-vet=off", "-short", "./cmd/poolwright", "-skip", "^(TestScripts|TestStories)$"}})
	}
	if len(c.scripts) > 0 {
		pattern := "^TestScripts$"
		if len(c.scripts) < len(t.scripts) {
			pattern += "/^(" + strings.Join(c.scripts, "|") + ")$"
		}
		steps = append(steps, step{fmt.Sprintf("%d scripts of %d", len(c.scripts), len(t.scripts)), []string{"test", "-vet=off", "./cmd/poolwright", "-run", pattern}})
	}
	return append(steps, step{"four histories", []string{"test", "-vet=off", "./test/cstor", "-run", "^TestHistories$", "-histories=4"}}), nil
}

// changed are the files that differ from the last commit, and those that are new; with none of either, those of the
// last commit.
func changed() ([]string, error) {
	files, err := lines("git", "diff", "--name-only", "HEAD")
	if err != nil {
		return nil, err
	}
	added, err := lines("git", "ls-files", "--others", "--exclude-standard")
	if err != nil {
		return nil, err
	}
	if files = append(files, added...); len(files) > 0 {
		return files, nil
	}
	return lines("git", "diff-tree", "--no-commit-id", "--name-only", "-r", "--root", "HEAD")
}

// dependents are the packages that import one of those given, also indirectly.
func dependents(of []string) ([]string, error) {
	all, err := lines("go", "list", "-f", `{{.ImportPath}} {{join .Deps " "}}`, "./...")
	if err != nil {
		return nil, err
	}
	var found []string
	for _, line := range all {
		fields := strings.Fields(line)
		if !slices.Contains(of, fields[0]) && slices.ContainsFunc(fields[1:], func(dep string) bool { return slices.Contains(of, dep) }) {
			found = append(found, fields[0])
		}
	}
	return found, nil
}

// readTree reads the repository, at whose top the program runs.
func readTree() (tree, error) {
	t := tree{scripts: map[string]string{}, packages: map[string]bool{}}
	listed, err := lines("git", "ls-files", "--cached", "--others", "--exclude-standard", "--", "*.go", "*/go.mod")
	if err != nil {
		return t, err
	}
	for _, file := range listed {
		if path.Base(file) == "go.mod" {
			t.modules = append(t.modules, path.Dir(file))
		}
	}
	for _, file := range listed {
		_, err := os.Stat(file)
		if err == nil && path.Ext(file) == ".go" && !slices.ContainsFunc(t.modules, func(m string) bool { return strings.HasPrefix(file, m+"/") }) {
			t.packages[path.Dir(file)] = true
		}
	}
	source, err := os.ReadFile("fn/systems/systems.go")
	if err != nil {
		return t, err
	}
	for line := range strings.Lines(string(source)) {
		line = strings.Trim(strings.TrimSpace(line), `"`)
		if folder, found := strings.CutPrefix(line, module+"fn/"); found && folder != "system" {
			t.systems = append(t.systems, folder)
		}
	}
	return t, filepath.WalkDir(scriptFolder, func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(file)
		t.scripts[strings.TrimSuffix(e.Name(), ".txtar")] = string(text)
		return err
	})
}

// lines are those that a program prints.
func lines(name string, args ...string) ([]string, error) {
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	var all []string
	for line := range bytes.Lines(out) {
		all = append(all, strings.TrimRight(string(line), "\n"))
	}
	return all, nil
}
