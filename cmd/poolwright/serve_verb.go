package main

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/poolwright/poolwright/folder"
	"github.com/poolwright/poolwright/service"
)

// Parameters that are arguments of a command: KIND/NAME, and changes.
const (
	objectParameter = "object"
	changeParameter = "change"
)

// servedNames lists the commands that serve offers, beside fn.
func servedNames(s program) string {
	var names []string
	for _, v := range verbs() {
		if v.route != nil {
			names = append(names, v.make(s).Name())
		}
	}
	return strings.Join(names, ", ")
}

// served is a command as an endpoint. Each request gets a command of its own, with the package
// of its body in place of a folder.
func (p program) served(v verb) service.Verb {
	p.verbose = new(bool)
	cmd := p.command(v)
	served := service.Verb{Name: cmd.Name(), Short: cmd.Short, Result: v.route.result, Listed: v.route.listed}
	for _, name := range v.route.parameters() {
		flag := cmd.Flag(name)
		parameter := service.Parameter{Name: name, Usage: flag.Usage, Default: flag.DefValue, Bool: flag.Value.Type() == "bool", Values: wordsOf(flag), Repeats: flag.Value.Type() == "stringArray"}
		if parameter.Repeats {
			parameter.Default = ""
		}
		if name == "output" {
			parameter.Default = "" // the header Accept decides
			served.Forms = forms(flag)
		}
		served.Parameters = append(served.Parameters, parameter)
	}
	if takesObject(cmd) {
		served.Parameters = append(served.Parameters, service.Parameter{Name: objectParameter, Usage: "KIND/NAME or KIND/NAMESPACE/NAME"})
	}
	if takesChanges(cmd) {
		served.Parameters = append(served.Parameters, service.Parameter{Name: changeParameter, Usage: "a change, such as lose node/NAME; several apply in order", Repeats: true})
	}
	served.Run = func(call service.Call) service.Outcome { return p.answer(v, call) }
	return served
}

// parameters are the flags of a route, and the one of all commands.
func (r *route) parameters() []string { return append(slices.Clone(r.flags), "verbose") }

// command makes a command that runs alone.
func (p program) command(v verb) *cobra.Command {
	cmd := v.make(p)
	addVerbose(cmd.Flags(), p.verbose)
	return cmd
}

func takesChanges(cmd *cobra.Command) bool { return strings.Contains(cmd.Use, "[CHANGE]") }

func takesObject(cmd *cobra.Command) bool { return strings.Contains(cmd.Use, "[KIND/NAME]") }

// wordsOf are the values that a flag takes, nil for any.
func wordsOf(flag *pflag.Flag) []string {
	if t := flag.Value.Type(); strings.Contains(t, "|") {
		return strings.Split(t, "|")
	}
	return nil
}

// forms are what a command can print, JSON first. The text of a command that has no word for it
// is what it prints without -o.
func forms(flag *pflag.Flag) []service.Form {
	types := map[format]string{
		asJSON: "application/json", asYAML: "application/yaml", asTable: "text/plain",
		asMarkdown: "text/markdown", asSVG: "image/svg+xml", asDOT: "text/vnd.graphviz",
	}
	var all []service.Form
	words := wordsOf(flag)
	for _, word := range words {
		all = append(all, service.Form{Word: word, Type: types[format(word)]})
	}
	if !slices.Contains(words, string(asTable)) {
		all = append(all, service.Form{Type: types[asTable]})
	}
	slices.SortStableFunc(all, func(a, b service.Form) int { return rank(a) - rank(b) })
	return all
}

func rank(f service.Form) int {
	if f.Word == string(asJSON) {
		return 0
	}
	return 1
}

// answer runs a command for one request.
func (p program) answer(v verb, call service.Call) service.Outcome {
	memory, err := folder.InMemory(call.List)
	if err != nil {
		return service.Outcome{Err: err, Code: exitFailed}
	}
	var outcome service.Outcome
	var out, talk bytes.Buffer
	p.streams = streams{in: strings.NewReader(""), out: &out, err: &talk, verbose: new(bool), reported: &outcome.Findings}
	if call.Form.Type == "text/plain" {
		p.err = &out // where a person sees both
	}
	p.memory = memory
	cmd := p.command(v)
	err = p.call(cmd, call)
	outcome.Code, outcome.Out = exitOf(err), out.Bytes()
	outcome.Refused = errors.Is(err, errFindings) && !errors.Is(err, errVerdict)
	if !errors.Is(err, errFindings) && !errors.Is(err, errChanges) {
		outcome.Err = err
	}
	return outcome
}

// call sets the flags of a command as the query has them, and runs it.
func (p program) call(cmd *cobra.Command, call service.Call) error {
	flags := cmd.Flags()
	set := func(name, value string) error {
		if err := flags.Set(name, value); err != nil {
			return usage("?%s=%s: %v", name, value, err)
		}
		return nil
	}
	// The facts are in the package: there is no cluster.
	if flags.Lookup("from") != nil {
		if err := set("from", fromInventory); err != nil {
			return err
		}
	}
	if call.Form.Word != "" {
		if err := set("output", call.Form.Word); err != nil {
			return err
		}
	}
	var args []string
	if strings.Contains(cmd.Use, "[DIR]") {
		args = append(args, ".")
	}
	var changes []string
	for name, values := range call.Values {
		switch name {
		case "output":
			continue
		case objectParameter:
			args = append(args, values[0])
			continue
		case changeParameter:
			changes = append(changes, values...)
			continue
		}
		for _, value := range values {
			if err := set(name, value); err != nil {
				return err
			}
		}
	}
	return cmd.RunE(cmd, append(args, changes...))
}
