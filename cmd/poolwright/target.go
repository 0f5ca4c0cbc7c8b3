package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/poolwright/poolwright/folder"
	"github.com/poolwright/poolwright/terminal"
)

// addTarget adds the flags that name what a verb writes: --output-dir a folder, and -o - the standard output. forms, if not
// nil, takes the formats of -o.
func addTarget(s program, cmd *cobra.Command, target *string, otherwise, help string, forms func(string) bool) {
	cmd.Flags().StringVarP(target, "output-dir", "O", otherwise, help)
	cmd.Flags().VarP(&outputFlag{target: target, talk: s.err, forms: forms}, "output", "o", "- prints to stdout instead")
	if otherwise == folder.Stdout {
		cmd.Flag("output-dir").DefValue = "" // help says it in words
	}
	if forms != nil {
		cmd.Flag("output").Usage += "; json or yaml is --format"
	}
	// The only error is a flag that does not exist.
	if err := cmd.MarkFlagDirname("output-dir"); err != nil {
		panic(err)
	}
	complete(s, cmd, "output", folder.Stdout)
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if o := cmd.Flag("output"); cmd.Flag("output-dir").Changed && o.Value.String() != "" {
			return usage("-o %s and --output-dir name two targets: leave one out", o.Value)
		}
		return nil
	}
}

// outputFlag is -o of a verb that writes a folder.
type outputFlag struct {
	value  string // as it was given, unless it is a format
	target *string
	talk   io.Writer
	forms  func(string) bool
}

func (f *outputFlag) String() string { return f.value }
func (f *outputFlag) Type() string   { return "string" }

// Set takes a folder, too, as -o did before there was --output-dir.
func (f *outputFlag) Set(v string) error {
	if f.forms != nil && f.forms(v) {
		return nil
	}
	if v != folder.Stdout {
		terminal.Printf(f.talk, "warning: -o %s: -o is for a format, and will not take a folder in the next release: write --output-dir %s, or -O\n", v, v)
	}
	f.value, *f.target = v, v
	return nil
}
