package controlplane

import (
	"fmt"
	"path/filepath"
	"slices"
)

const apiServer = "kube-apiserver"

// StopAPIServer ends the API server alone, as a crash does.
func (c *ControlPlane) StopAPIServer() {
	for _, p := range c.processes {
		if filepath.Base(p.cmd.Path) == apiServer {
			p.kill()
		}
	}
}

// StartAPIServer starts it again at the same address, with what etcd holds.
func (c *ControlPlane) StartAPIServer() error {
	i := slices.IndexFunc(c.processes, func(p *process) bool { return filepath.Base(p.cmd.Path) == apiServer })
	if i < 0 {
		return fmt.Errorf("there was no %s", apiServer)
	}
	old := c.processes[i]
	c.processes = slices.Delete(c.processes, i, i+1)
	if err := c.run(filepath.Dir(old.cmd.Path), apiServer, old.cmd.Args[1:]...); err != nil {
		return err
	}
	return c.await(c.Client, c.URL+"/readyz")
}
