package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/poolwright/poolwright/cmd/internal/folder"
	"github.com/poolwright/poolwright/cmd/internal/terminal"
	"github.com/poolwright/poolwright/examples"
	"github.com/poolwright/poolwright/schema/document"
)

const initLong = `Make a package that renders, to change into one's own: a spec, an inventory, and
the wiring for kustomize, kpt, Argo CD and Flux. SYSTEM is one of

  %s

DIR is a new or an empty folder, by default one with the name of the system. The
wiring takes its names from DIR; what else is to be changed there is marked.`

const initExample = `  poolwright init cstor-local
  poolwright init cstor-cloud clusters/prod/storage`

func newInit(s program) *cobra.Command {
	systems := examples.Systems()
	return &cobra.Command{
		Use:     "init SYSTEM [DIR]",
		Short:   "Make a package that renders",
		Long:    fmt.Sprintf(initLong, strings.Join(systems, "\n  ")),
		Example: initExample,
		Args:    atMost(2, "init takes a SYSTEM and one DIR"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return systems, cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("which SYSTEM? one of %s", strings.Join(systems, ", "))
			}
			files, err := examples.System(args[0])
			if err != nil {
				return usage("unknown system %q: one of %s", args[0], strings.Join(systems, ", "))
			}
			dir := args[0]
			if len(args) == 2 {
				dir = args[1]
			}
			if err := folder.Create(dir, files); err != nil {
				return err
			}
			if err := rename(dir, args[0]); err != nil {
				return err
			}
			terminal.Printf(s.err, "%s: made from %s; next: poolwright render %s\n", dir, args[0], dir)
			return nil
		},
	}
}

// rename gives the wiring in a copy of an example the name and the path of its
// folder. Where that is no name in Kubernetes, the example's stays; where the path
// leads out of the current folder, only its end can be one in a repository.
func rename(dir, system string) error {
	full, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	name, place := filepath.Base(full), filepath.Clean(dir)
	if place == "." || !filepath.IsLocal(place) {
		place = name
	}
	if len(validation.IsDNS1123Label(name)) > 0 {
		name = system
	}
	value := func(text string) string {
		node := document.Text(text)
		return ": " + strings.TrimSuffix(string(document.Append(nil, &node, 0)), "\n")
	}
	rendered := filepath.ToSlash(place) + "/rendered"
	replacer := strings.NewReplacer(
		": ./"+system+"/rendered", value("./"+rendered),
		": "+system+"/rendered", value(rendered),
		": "+system+"\n", value(name)+"\n",
	)
	for _, file := range []string{"Kptfile", "kustomization.yaml", "argocd/application.yaml", "flux/sync.yaml"} {
		path := filepath.Join(dir, file)
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(replacer.Replace(string(text))), 0o666); err != nil {
			return err
		}
	}
	return nil
}
