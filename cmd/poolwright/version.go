package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/poolwright/poolwright/terminal"
)

// version is set by the linker for a release.
var version string

// build is what the binary knows about itself.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Go       string `json:"goVersion"`
	Platform string `json:"platform"`
}

func newVersion(s program) *cobra.Command {
	var f format
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Long:    "Print the version of Poolwright, and the Go version and platform it was built with.",
		Example: "  poolwright version -o json",
		Args:    atMost(0, "version takes none"),
		RunE: func(*cobra.Command, []string) error {
			b := thisBuild()
			if f != asText {
				return printAs(s.out, f, b)
			}
			_, err := terminal.Printf(s.out, "poolwright %s\n", b)
			return err
		},
	}
	addFormat(s, cmd, &f)
	return cmd
}

func (b build) String() string { return fmt.Sprintf("%s (%s, %s)", b.Version, b.Go, b.Platform) }

func thisBuild() build {
	b := build{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if b.Version == "" {
		b.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			b.Commit = s.Value
		}
	}
	return b
}
