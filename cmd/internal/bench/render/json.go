package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/poolwright/poolwright/schema/document"
)

// inventoryAsJSON copies the package as poolwright inventory --format json would
// have made it. A process of its own does it: see appendItem.
func inventoryAsJSON(from, to string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return exec.Command(self, "as-json", from, to).Run()
}

func copyAsJSON(from, to string) error {
	if err := os.MkdirAll(filepath.Join(to, "inventory"), 0o755); err != nil {
		return err
	}
	spec, err := os.ReadFile(filepath.Join(from, "cstor.yaml"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(to, "cstor.yaml"), spec, 0o644); err != nil {
		return err
	}
	for _, name := range []string{"nodes", "blockdevices"} {
		data, err := os.ReadFile(filepath.Join(from, "inventory", name+".yaml"))
		if err != nil {
			return err
		}
		docs, err := document.Parse(&document.Source{Name: name, Data: data})
		if err != nil {
			return err
		}
		text := fmt.Appendf(nil, `{"apiVersion":"poolwright.io/v1alpha1","kind":"Inventory","metadata":{"name":%q,"annotations":{"config.kubernetes.io/local-config":"true"}},"items":[`, name)
		for i, item := range docs[0].Node.Seq("items") {
			if i > 0 {
				text = append(text, ',')
			}
			text = document.AppendJSON(append(text, '\n'), &item)
		}
		if err := os.WriteFile(filepath.Join(to, "inventory", name+".json"), append(text, "\n]}\n"...), 0o644); err != nil {
			return err
		}
	}
	return nil
}
