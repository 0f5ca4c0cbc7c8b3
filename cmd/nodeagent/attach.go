package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/poolwright/poolwright/nodeagent/source"
	"github.com/poolwright/poolwright/nodeagent/step"
)

func attachCommand(f *flags) *cobra.Command {
	var c clusterFlags
	cmd := &cobra.Command{
		Use:   "attach",
		Short: "Attach the sparse files of this node's Volumes after a boot, without the API server",
		Long: `Attach the sparse files of this node's Volumes after a boot, without the API server.

It reads the journal, attaches a loop device to each sparse file of a Volume or VolumeGroup that
was complete, and changes nothing else. deploy/nodeagent/poolwright-attach.service runs it
before kubelet. It is refused while the node agent runs, which attaches them itself.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			only, err := lock(filepath.Join(c.folder, "lock"))
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, only.Close()) }()
			journal, err := step.Open(c.folder)
			if err != nil {
				return err
			}
			engine := &source.Engine{Host: f.host(), Node: f.node, Folder: c.folder, Runner: step.Runner{Journal: journal}}
			attached, err := engine.Attach()
			for _, line := range attached {
				if _, failed := fmt.Fprintln(cmd.OutOrStdout(), line); failed != nil {
					return failed
				}
			}
			return err
		},
	}
	c.addState(cmd)
	return cmd
}
