package main

import (
	"encoding/json"
	"io"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/poolwright/poolwright/cmd/internal/terminal"
	"github.com/poolwright/poolwright/schema/finding"
)

// report prints findings, one a line, and turns errors among them into a
// failure.
func report(w io.Writer, fs []finding.Finding) error {
	color := terminal.HasColor(w)
	told := map[note]int{}
	for _, f := range fs {
		if f.Severity == finding.Info {
			kind := note{f.Object, f.Rule}
			if told[kind]++; told[kind] > maxNotes {
				continue
			}
		}
		line := terminal.Printable(f.String())
		if color {
			line = colored(line, f.Severity)
		}
		_, _ = io.WriteString(w, line+"\n")
	}
	for _, f := range fs {
		if kind := (note{f.Object, f.Rule}); told[kind] > maxNotes {
			terminal.Printf(w, "%s: %s: and %d more like this (%s); poolwright explain has them all\n", f.Severity, f.Object, told[kind]-maxNotes, f.Rule)
			delete(told, kind)
		}
	}
	if finding.Failed(fs) {
		return errFindings
	}
	return nil
}

// maxNotes is how many notes of one sort about one object are printed: a large
// cluster that awaits its disks has one for each node.
const maxNotes = 10

// note is a sort of info about an object.
type note struct {
	object finding.Ref
	rule   string
}

func colored(line string, s finding.Severity) string {
	color := map[finding.Severity]string{
		finding.Error: terminal.Red, finding.Warning: terminal.Yellow, finding.Info: terminal.Cyan,
	}[s]
	return strings.Replace(line, string(s)+": ", color+string(s)+terminal.Plain+": ", 1)
}

// printAs prints a value for machines.
func printAs(w io.Writer, f format, v any) error {
	if f == asYAML {
		// Some of what cannot be seen the library refuses, and some it leaves as it is.
		// JSON is YAML, too.
		if data, err := yaml.Marshal(v); err == nil && terminal.Visible(data) {
			_, err = w.Write(data)
			return err
		}
	}
	data, err := json.MarshalIndent(v, "", "  ")
	if err == nil {
		_, err = w.Write(append(terminal.JSON(data), '\n'))
	}
	return err
}

// machineRef names an object as -o json prints it.
type machineRef struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name,omitempty"`
}

// machineFinding is a finding as -o json prints it.
type machineFinding struct {
	Severity finding.Severity `json:"severity"`
	Object   *machineRef      `json:"object,omitempty"`
	Field    string           `json:"field,omitempty"`
	File     string           `json:"file,omitempty"`
	Line     int              `json:"line,omitempty"`
	Column   int              `json:"column,omitempty"`
	Message  string           `json:"message"`
	Rule     string           `json:"rule,omitempty"`
	Current  string           `json:"currentValue,omitempty"`
	Proposed string           `json:"proposedValue,omitempty"`
}

func forMachines(fs []finding.Finding) []machineFinding {
	out := make([]machineFinding, len(fs))
	for i, f := range fs {
		out[i] = machineFinding{
			Severity: f.Severity, Field: f.Field, File: f.Pos.File, Line: f.Pos.Line, Column: f.Pos.Column,
			Message: f.Message, Rule: f.Rule, Current: f.Current, Proposed: f.Proposed,
		}
		if f.Object != (finding.Ref{}) {
			r := machineRef(f.Object)
			out[i].Object = &r
		}
	}
	return out
}
