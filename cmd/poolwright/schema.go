package main

import (
	"cmp"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/terminal"
)

const schemaLong = `Print the schema of a kind: as CUE (the source of all others), as JSON Schema for
editors, as OpenAPI, or as a CustomResourceDefinition. Without KIND, list the kinds.
KIND.FIELD explains one field: its type, default, values, and the fields below it.

The CustomResourceDefinition contains the rules between fields in CEL, so that an API
server refuses what vet refuses. It carries the annotations that keep Argo CD, Flux and
kpt from deleting it, and with it all objects of the kind.`

const schemaExample = `  poolwright schema
  poolwright schema CStorClusterConfig
  poolwright schema CStorClusterConfig.spec.poolConfig.raidType
  poolwright schema CStorClusterConfig -o jsonschema > .vscode/cstor.json
  poolwright schema CStorClusterConfig -o crd | kubectl apply -f -`

func newSchema(s program) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "schema [KIND[.FIELD]]",
		Short:   "Print the schema of a kind",
		Long:    schemaLong,
		Example: schemaExample,
		Args:    atMost(1, "schema takes one KIND"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return s.function.Schemas().Names(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			schemas := s.function.Schemas()
			if len(args) == 0 {
				return listKinds(s, schemas.Kinds(), output)
			}
			return exportKind(s, schemas, args[0], output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "cue (default), jsonschema, openapi or crd; json or yaml for the list of kinds, and for a field")
	completeWith(s, cmd, "output", func(args []string) []string {
		if len(args) > 0 {
			return schema.Formats()
		}
		return append(schema.Formats(), string(asJSON), string(asYAML)) // a KIND may follow
	})
	return cmd
}

func exportKind(s program, schemas *schema.Schemas, name, output string) error {
	f := schema.Format(cmp.Or(output, string(schema.CUE)))
	for _, kind := range schemas.Names() {
		if strings.EqualFold(kind, name) {
			if !slices.Contains(schema.Formats(), string(f)) {
				return usage("-o %s: %q is not one of %s", output, output, strings.Join(schema.Formats(), ", "))
			}
			data, err := schemas.Export(kind, f)
			if err == nil && f == schema.CRD {
				data, err = protectedCRD(kind, data)
			}
			if err != nil {
				return err
			}
			_, err = s.out.Write(data)
			return err
		}
	}
	if strings.Contains(name, ".") {
		return printField(s, schemas, name, output)
	}
	return usage("unknown kind %q; the kinds are %s", name, strings.Join(schemas.Names(), ", "))
}

// kindRow is one line of the list of kinds.
type kindRow struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
	Role       string `json:"role"`
	Doc        string `json:"doc"`
}

func listKinds(s program, kinds []schema.Kind, output string) error {
	rows := make([]kindRow, len(kinds))
	for i, k := range kinds {
		rows[i] = kindRow{k.Kind, k.APIVersion(), string(k.Role), k.Doc}
	}
	switch format(output) {
	case asText:
	case asJSON, asYAML:
		return printAs(s.out, format(output), rows)
	default:
		return usage("-o %s: name a KIND, or use json or yaml for the list of kinds", output)
	}
	t := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	terminal.Printf(t, "KIND\tAPIVERSION\tROLE\tWHAT IT IS\n")
	for _, r := range rows {
		terminal.Printf(t, "%s\t%s\t%s\t%s\n", r.Kind, r.APIVersion, r.Role, r.Doc)
	}
	return t.Flush()
}
