package tutorial

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// step is one thing that happens in a tutorial.
type step struct {
	line      int    // of the fence or comment, from 1
	meanwhile string // name of a function; otherwise commands
	commands  string
	exit      int
	output    *string // nil: not compared
}

var (
	comment = regexp.MustCompile(`^<!-- meanwhile: ([a-z][a-z0-9-]*) -->$`)
	exit    = regexp.MustCompile(`^exit=([0-9]+)$`)
)

// parse reads the steps of a tutorial, in order.
func parse(text string) ([]step, error) {
	var steps []step
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		at := i + 1
		if strings.HasPrefix(lines[i], "<!-- meanwhile") {
			match := comment.FindStringSubmatch(lines[i])
			if match == nil {
				return nil, fmt.Errorf("line %d: want <!-- meanwhile: NAME -->", at)
			}
			steps = append(steps, step{line: at, meanwhile: match[1]})
		}
		info, fence := strings.CutPrefix(lines[i], "```")
		if !fence {
			continue
		}
		var body strings.Builder
		for i++; i < len(lines) && lines[i] != "```"; i++ {
			body.WriteString(lines[i] + "\n")
		}
		if i == len(lines) {
			return nil, fmt.Errorf("line %d: the fence has no end", at)
		}
		words := strings.Fields(info)
		switch {
		case len(words) == 0:
		case words[0] == "sh":
			s := step{line: at, commands: body.String()}
			for _, word := range words[1:] {
				match := exit.FindStringSubmatch(word)
				if match == nil {
					return nil, fmt.Errorf("line %d: %q is not exit=CODE", at, word)
				}
				s.exit, _ = strconv.Atoi(match[1])
			}
			steps = append(steps, s)
		case words[0] == "output":
			if len(steps) == 0 || steps[len(steps)-1].meanwhile != "" || steps[len(steps)-1].output != nil {
				return nil, fmt.Errorf("line %d: output of which commands?", at)
			}
			out := body.String()
			steps[len(steps)-1].output = &out
		}
	}
	return steps, nil
}

// matches reports whether got is what want shows of it.
func matches(want, got string) bool {
	var pattern strings.Builder
	pattern.WriteString(`\A`)
	for line := range strings.Lines(want) {
		if strings.TrimSpace(line) == "..." {
			pattern.WriteString(`(?s:.*?\n)??`)
			continue
		}
		pattern.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), `\.\.\.`, ".*"))
	}
	pattern.WriteString(`\z`)
	return regexp.MustCompile(pattern.String()).MatchString(got)
}
