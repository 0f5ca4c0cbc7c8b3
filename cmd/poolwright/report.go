package main

import (
	"encoding/json"
	"io"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/terminal"
)

// report prints findings, one a line, and turns errors among them into a failure.
// Many of one kind are folded, unless --verbose asks for all.
func report(s streams, fs []finding.Finding) error {
	kept, more := s.fold(fs)
	printFindings(s.err, kept)
	for _, m := range more {
		terminal.Println(s.err, m.Line("-v prints all"))
	}
	s.note(fs)
	return failure(fs)
}

// note remembers what is reported.
func (s streams) note(fs []finding.Finding) {
	if s.reported != nil {
		*s.reported = append(*s.reported, fs...)
	}
}

// fold leaves out what is not to be printed of many findings of one kind.
func (s streams) fold(fs []finding.Finding) ([]finding.Finding, []finding.More) {
	if s.verbose != nil && *s.verbose {
		return fs, nil
	}
	return finding.Fold(fs, finding.Few)
}

func printFindings(w io.Writer, fs []finding.Finding) {
	color := terminal.HasColor(w)
	for _, f := range fs {
		line := terminal.Printable(f.String())
		if color {
			line = colored(line, f.Severity)
		}
		_, _ = io.WriteString(w, line+"\n")
	}
}

func failure(fs []finding.Finding) error {
	if finding.Failed(fs) {
		return errFindings
	}
	return nil
}

func colored(line string, s finding.Severity) string {
	return strings.Replace(line, string(s)+": ", severityColor(s)+string(s)+terminal.Plain+": ", 1)
}

func severityColor(s finding.Severity) string {
	switch s {
	case finding.Error:
		return terminal.Red
	case finding.Warning:
		return terminal.Yellow
	}
	return terminal.Cyan
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

// What -o json prints of an object and of a finding, as the service does.
type (
	machineRef     = finding.Object
	machineFinding = finding.Record
)
