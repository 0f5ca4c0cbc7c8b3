package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/facts"
	"github.com/poolwright/poolwright/nodeagent/inventory"
	"github.com/poolwright/poolwright/schema/quantity"
)

func inspectCommand(f *flags) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "inspect",
		Short: "Show the disks of this node, and why each may or may not be used",
		Long: `Show the disks of this node, and why each may or may not be used.

It only reads, and needs no cluster. -o yaml prints the NodeInventory that run would write;
keep it beside the specs of a package.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "" && output != "json" && output != "yaml" {
				return fmt.Errorf("output %q is not one of json, yaml", output)
			}
			read, err := facts.Read(f.host())
			if err != nil {
				return err
			}
			inventory.Complete(cmd.Context(), read)
			inv := inventory.Compose(cmd.Context(), read, func(string) string { return "" }, nil)
			return printInventory(cmd.OutOrStdout(), f.node, inv, output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "json or yaml (default a table)")
	return cmd
}

func printInventory(w io.Writer, node string, inv api.Inventory, output string) error {
	if output == "" {
		return printTable(w, inv)
	}
	data, err := json.MarshalIndent(map[string]any{
		"apiVersion": "poolwright.io/v1alpha1", "kind": "NodeInventory",
		"metadata": map[string]any{"name": node}, "status": inv,
	}, "", "  ")
	if err != nil {
		return err
	}
	if output == "yaml" {
		if data, err = yaml.JSONToYAML(data); err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", data)
	return err
}

func printTable(w io.Writer, inv api.Inventory) error {
	for _, d := range inv.Disks {
		if _, err := fmt.Fprintln(w, inventory.Summary(d)); err != nil {
			return err
		}
	}
	for _, c := range inv.Controllers {
		for _, line := range inventory.Drives(c) {
			if _, err := fmt.Fprintln(w, line); err != nil {
				return err
			}
		}
	}
	for _, g := range inv.Groups {
		if _, err := fmt.Fprintf(w, "group %-12s %6s  %s free\n", g.Name, quantity.Size(g.Size), quantity.Size(g.Free)); err != nil {
			return err
		}
	}
	return nil
}
