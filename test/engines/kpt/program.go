package kpt

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/poolwright/poolwright/test/engines/scenario"
)

// Program is a package that a kpt program applies.
type Program struct {
	program    string // its path
	kubeconfig string
	dir        string // of the package: a copy of the working tree, with a Kptfile
	kptfile    []byte // with its inventory
	inventory  []byte // resourcegroup.yaml
}

// NewProgram makes a package in dir, with an inventory in the namespace default.
func NewProgram(ctx context.Context, program, kubeconfig, name, dir string) (*Program, error) {
	p := &Program{program: program, kubeconfig: kubeconfig, dir: dir}
	kptfile := filepath.Join(dir, "Kptfile")
	if err := os.WriteFile(kptfile, fmt.Appendf(nil, "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: %s}\n", name), 0o666); err != nil {
		return nil, err
	}
	if _, err := p.kpt(ctx, "live", "init", "--namespace", "default", "--name", "inventory-"+name, dir); err != nil {
		return nil, err
	}
	if _, err := p.kpt(ctx, "live", "install-resource-group"); err != nil {
		return nil, err
	}
	var err error
	if p.kptfile, err = os.ReadFile(kptfile); err != nil {
		return nil, err
	}
	if p.inventory, err = os.ReadFile(filepath.Join(dir, "resourcegroup.yaml")); err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	return p, nil
}

// Sync is kpt live apply.
func (p *Program) Sync(ctx context.Context, dir string) (scenario.Report, error) {
	if err := os.RemoveAll(p.dir); err != nil {
		return scenario.Report{}, err
	}
	if err := os.CopyFS(p.dir, os.DirFS(dir)); err != nil {
		return scenario.Report{}, err
	}
	if err := os.WriteFile(filepath.Join(p.dir, "Kptfile"), p.kptfile, 0o666); err != nil {
		return scenario.Report{}, err
	}
	if p.inventory != nil {
		if err := os.WriteFile(filepath.Join(p.dir, "resourcegroup.yaml"), p.inventory, 0o666); err != nil {
			return scenario.Report{}, err
		}
	}
	out, err := p.kpt(ctx, "live", "apply", "--output", "json", "--server-side", "--force-conflicts", "--inventory-policy", "adopt", "--reconcile-timeout", patience.String(), "--prune-timeout", patience.String(), p.dir)
	return p.read(out), err
}

// Delete is kpt live destroy.
func (p *Program) Delete(ctx context.Context) (scenario.Report, error) {
	out, err := p.kpt(ctx, "live", "destroy", "--output", "json", p.dir)
	return p.read(out), err
}

func (p *Program) kpt(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, p.program, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+p.kubeconfig)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.Bytes(), fmt.Errorf("kpt %s: %w\n%s%s", strings.Join(args, " "), err, stdout.Bytes(), stderr.Bytes())
	}
	return stdout.Bytes(), nil
}

// read takes what was deleted and kept from the events, one a line.
func (p *Program) read(events []byte) scenario.Report {
	var report scenario.Report
	decoder := json.NewDecoder(bytes.NewReader(events))
	for {
		var e struct{ Type, Status, Kind, Name string }
		if err := decoder.Decode(&e); err != nil {
			return report // its end
		}
		if e.Type != "prune" && e.Type != "delete" || e.Kind == "" {
			continue
		}
		switch id := e.Kind + "/" + e.Name; e.Status {
		case "Skipped":
			report.Kept = append(report.Kept, id)
		case "Successful":
			report.Deleted = append(report.Deleted, id)
		}
	}
}
