package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// addOneOf adds a flag that takes one of a few words to a verb. What value holds
// is the default; short may be "".
func addOneOf[T ~string](s program, cmd *cobra.Command, value *T, name, short, help string, words ...T) {
	f := oneOf[T]{value: value}
	for _, w := range words {
		f.words = append(f.words, string(w))
	}
	cmd.Flags().VarP(f, name, short, help)
	complete(s, cmd, name, f.words...)
}

// oneOf is the value of such a flag.
type oneOf[T ~string] struct {
	value *T
	words []string
}

func (f oneOf[T]) String() string { return string(*f.value) }
func (f oneOf[T]) Type() string   { return strings.Join(f.words, "|") }
func (f oneOf[T]) Set(v string) error {
	if !slices.Contains(f.words, v) {
		return fmt.Errorf("%q is not one of %s", v, strings.Join(f.words, ", "))
	}
	*f.value = T(v)
	return nil
}

// complete offers fixed values for a flag to the shell, and none if there are none.
func complete(s program, cmd *cobra.Command, flag string, values ...string) {
	completeWith(s, cmd, flag, func([]string) []string { return values })
}

// completeWith offers what the function finds, which gets the arguments so far.
func completeWith(s program, cmd *cobra.Command, flag string, values func(args []string) []string) {
	register(s, cmd, flag, func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		return values(args), cobra.ShellCompDirectiveNoFileComp
	})
}

// completeOrPath offers fixed values for a flag that takes a path as well: paths
// once none of the values can be meant.
func completeOrPath(s program, cmd *cobra.Command, flag string, path cobra.ShellCompDirective, values ...string) {
	register(s, cmd, flag, func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		if slices.ContainsFunc(values, func(v string) bool { return strings.HasPrefix(v, begun) }) {
			return values, cobra.ShellCompDirectiveNoFileComp
		}
		return nil, path
	})
}

func register(s program, cmd *cobra.Command, flag string, f cobra.CompletionFunc) {
	if s.memory != nil {
		return // cobra keeps them as long as the process runs, and a request has a command of its own
	}
	// The only error is a flag that does not exist.
	if err := cmd.RegisterFlagCompletionFunc(flag, f); err != nil {
		panic(err)
	}
}
