package controlplane

import (
	"fmt"
	"os"
	"path/filepath"
)

// Run starts one more program from bin, such as a controller, which inherits the
// environment. Stop ends it too. The error is ErrNotBuilt if it is missing.
func (c *ControlPlane) Run(bin, program string, args ...string) error {
	if _, err := os.Stat(filepath.Join(bin, program)); err != nil {
		return fmt.Errorf("%w: %s is not in %s", ErrNotBuilt, program, bin)
	}
	return c.run(bin, program, args...)
}

// Log is what a program has written.
func (c *ControlPlane) Log(program string) string {
	data, err := os.ReadFile(filepath.Join(c.Dir, program+".log"))
	if err != nil {
		return err.Error()
	}
	return string(data)
}
