package raid_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/nodeagent/host"
	"github.com/poolwright/poolwright/nodeagent/raid"
	"github.com/poolwright/poolwright/test/storcli"
)

// TestMain is storcli where it is run under that name.
func TestMain(m *testing.M) {
	if storcli.Is(os.Args[0]) {
		os.Exit(storcli.Main(os.Args[0], os.Args[1:], os.Stdout))
	}
	os.Exit(m.Run())
}

// node is a node with one program, and the state of its stand-in.
func node(t *testing.T, program string, state storcli.State) (*host.Tools, string) {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	if err == nil {
		err = errors.Join(os.Symlink(self, filepath.Join(dir, program)), state.Write(dir))
	}
	if err != nil {
		t.Fatal(err)
	}
	return &host.Tools{Root: "/", Folders: []string{dir}}, dir
}

func two() storcli.State {
	return storcli.State{Controllers: []*storcli.Controller{{
		Battery: true,
		Drives: []*storcli.Drive{
			{Enclosure: 252, Slot: 0, Serial: "S0", WWN: "5000C500A1B2C3D0", State: "UGood"},
			{Enclosure: 252, Slot: 1, Serial: "S1", WWN: "5000C500A1B2C3D1", State: "UGood"},
		},
	}}}
}

func run(tools *host.Tools) raid.Run {
	return func(ctx context.Context, name string, args ...string) (host.Result, error) {
		return tools.Run(ctx, host.Command{Name: name, Args: args, Writes: true})
	}
}

func find(t *testing.T, tools *host.Tools) (raid.Adapter, raid.Controller) {
	t.Helper()
	reader, c, err := raid.Find(t.Context(), raid.Readers(tools), 0)
	if err != nil {
		t.Fatal(err)
	}
	adapter, ok := reader.(raid.Adapter)
	if !ok {
		t.Fatalf("%s changes nothing", reader.Name())
	}
	return adapter, c
}

// TestLife: a virtual drive of one drive is made, its policy changed, and it is deleted, in
// either grammar; the other drive stays as it was.
func TestLife(t *testing.T) {
	for _, program := range []string{"storcli64", "storcli2", "perccli64", "perccli2"} {
		t.Run(program, func(t *testing.T) {
			tools, _ := node(t, program, two())
			adapter, c := find(t, tools)
			d, err := c.Drive("0x5000c500a1b2c3d1", "S1")
			if err != nil || d == nil || d.State != raid.Unconfigured || d.Place() != "252:1" || !c.Battery {
				t.Fatalf("%+v, %v in %+v", d, err, c)
			}
			if err := adapter.Create(t.Context(), 0, *d, "pw-0123456789ab", raid.Cache{Read: "ra", Write: "wb"}, run(tools)); err != nil {
				t.Fatal(err)
			}
			_, c = find(t, tools)
			over := c.Over(*d)
			if over == nil || over.Name != "pw-0123456789ab" || over.Level != raid.RAID0 || over.WWN == "" || !over.Optimal() || !(raid.Cache{Read: "ra", Write: "wb"}).Holds(over.Cache) {
				t.Fatalf("%+v", over)
			}
			if err := adapter.SetCache(t.Context(), 0, over.ID, raid.Cache{Read: "nora", Write: "wt", IO: "cached"}, run(tools)); err != nil {
				t.Fatal(err)
			}
			_, c = find(t, tools)
			if v := c.Named("pw-0123456789ab"); v == nil || !(raid.Cache{Read: "nora", Write: "wt", IO: "cached"}).Holds(v.Cache) {
				t.Errorf("%+v", v)
			}
			if err := adapter.Delete(t.Context(), 0, over.ID, run(tools)); err != nil {
				t.Fatal(err)
			}
			_, c = find(t, tools)
			if len(c.Virtual) != 0 || c.Drives[0].State != raid.Unconfigured || c.Drives[1].State != raid.Unconfigured {
				t.Errorf("%+v", c)
			}
			if err := adapter.SetJBOD(t.Context(), 0, c.Drives[0], run(tools)); err != nil {
				t.Fatal(err)
			}
			if _, c = find(t, tools); c.Drives[0].State != raid.AsJBOD {
				t.Errorf("%+v", c.Drives[0])
			}
		})
	}
}

// TestStatusDecides: what counts is the status of the answer. The second program ends with 0 whatever
// happens, and either may end with another code and have done its work.
func TestStatusDecides(t *testing.T) {
	for _, program := range []string{"storcli64", "storcli2"} {
		tools, dir := node(t, program, two())
		adapter, c := find(t, tools)
		err := adapter.Delete(t.Context(), 0, 7, run(tools))
		if err == nil || !strings.Contains(err.Error(), "Some of the specified VDs does not exist") {
			t.Errorf("%s: %v", program, err)
		}
		for _, fault := range storcli.Faults() {
			if err := os.WriteFile(filepath.Join(dir, storcli.FaultFile), []byte(fault), 0o600); err != nil {
				t.Fatal(err)
			}
			err := adapter.SetJBOD(t.Context(), 0, c.Drives[0], run(tools))
			if success := fault == "says Success, does nothing" || fault == "exits 1, says Success"; (err == nil) != success {
				t.Errorf("%s %s: %v", program, fault, err)
			}
			if err := two().Write(dir); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestRefusedAnswers: an answer that is not understood, or whose parts do not fit, is an error, and
// nothing is concluded from it.
func TestRefusedAnswers(t *testing.T) {
	fits := map[string]string{
		"show J":                   `{"Controllers":[{"Command Status":{"Status":"Success"},"Response Data":{"Number of Controllers":1,"System Overview":[{"Ctl":0}]}}]}`,
		"/c0 show all J":           `{"Controllers":[{"Command Status":{"Status":"Success","Controller":0},"Response Data":{"Basics":{"Serial Number":"A"},"Physical Drives":1,"PD LIST":[{"EID:Slt":"252:0"}]}}]}`,
		"/c0/eall/sall show all J": `{"Controllers":[{"Command Status":{"Status":"Success","Controller":0},"Response Data":{"Drive /c0/e252/s0":[{"EID:Slt":"252:0","State":"UGood","DG":"-"}],"Drive /c0/e252/s0 - Detailed Information":{"Drive /c0/e252/s0 Device attributes":{"SN":" S0 ","WWN":"5000C500A1B2C3D0"}}}}]}`,
	}
	for name, test := range map[string]struct{ command, answer, want string }{
		"all fits":               {},
		"plain text":             {"show J", "syntax error, unexpected TOKEN_J", "no JSON"},
		"cut off":                {"show J", `{"Controllers":[{"Command Status":{"Status":"Suc`, "no JSON"},
		"no controllers":         {"show J", `{}`, "names no controller"},
		"no status":              {"show J", `{"Controllers":[{"Response Data":{}}]}`, `status ""`},
		"failure":                {"/c0 show all J", `{"Controllers":[{"Command Status":{"Status":"Failure","Description":"Controller 0 not found"}}]}`, "Controller 0 not found"},
		"another controller":     {"/c0 show all J", `{"Controllers":[{"Command Status":{"Status":"Success","Controller":1},"Response Data":{}}]}`, "another controller"},
		"a drive is missing":     {"/c0/eall/sall show all J", `{"Controllers":[{"Command Status":{"Status":"Success","Controller":0},"Response Data":{}}]}`, "does not fit"},
		"good and in a group":    {"/c0/eall/sall show all J", strings.Replace(fits["/c0/eall/sall show all J"], `"DG":"-"`, `"DG":11`, 1), "do not fit"},
		"online and in no group": {"/c0/eall/sall show all J", strings.Replace(fits["/c0/eall/sall show all J"], "UGood", "Onln", 1), "do not fit"},
		"no place":               {"/c0/eall/sall show all J", strings.Replace(fits["/c0/eall/sall show all J"], `"EID:Slt":"252:0",`, "", 1), "place"},
		"count":                  {"/c0 show all J", strings.Replace(fits["/c0 show all J"], `"Physical Drives":1`, `"Physical Drives":2`, 1), "does not fit"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			script := "#!/bin/sh\ncase \"$*\" in\n"
			for command, answer := range fits {
				if command == test.command {
					answer = test.answer
				}
				script += fmt.Sprintf("'%s') cat <<'END'\n%s\nEND\n;;\n", command, answer)
			}
			if err := os.WriteFile(filepath.Join(dir, "storcli64"), []byte(script+"esac\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			tools := &host.Tools{Root: "/", Folders: []string{dir, "/bin", "/usr/bin"}}
			_, c, err := raid.Find(t.Context(), raid.Readers(tools), 0)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
			if err == nil && (len(c.Drives) != 1 || c.Drives[0].Serial != "S0") {
				t.Errorf("%+v", c)
			}
		})
	}
}

// TestOneNotUnderstood: a controller whose answer does not fit together is no reason to know nothing of
// another one.
func TestOneNotUnderstood(t *testing.T) {
	for _, program := range []string{"storcli64", "storcli2"} {
		state := two()
		state.Controllers = append(state.Controllers, &storcli.Controller{Index: 1, Drives: []*storcli.Drive{{Enclosure: 8, Slot: 0, Serial: "S0", State: "Onln"}}})
		tools, _ := node(t, program, state)
		if _, c := find(t, tools); len(c.Drives) != 2 {
			t.Errorf("%s: %+v", program, c)
		}
		if _, _, err := raid.Find(t.Context(), raid.Readers(tools), 1); err == nil || !strings.Contains(err.Error(), "do not fit") || !strings.Contains(err.Error(), "controller 1") {
			t.Errorf("%s: %v", program, err)
		}
	}
}

// TestStates: how each drive is reported, in either grammar.
func TestStates(t *testing.T) {
	state := two()
	c := state.Controllers[0]
	c.Drives[0].State = "UBad"
	c.Drives[1].Foreign = true
	c.Drives = append(c.Drives, &storcli.Drive{Enclosure: 252, Slot: 2, Serial: "S2", State: "JBOD"}, &storcli.Drive{Enclosure: 252, Slot: 3, Serial: "S3", State: "Onln"})
	c.Virtual = []*storcli.Virtual{{ID: 3, Name: "theirs", NAA: "600605b000000001", Read: "ra", Write: "awb", IO: "cached", Drive: "252:3"}}
	for _, program := range []string{"storcli64", "storcli2"} {
		tools, _ := node(t, program, state)
		_, got := find(t, tools)
		var states []raid.State
		for _, d := range got.Drives {
			states = append(states, d.State)
		}
		if want := []raid.State{raid.Unusable, raid.Foreign, raid.AsJBOD, raid.Configured}; !slices.Equal(states, want) || !got.Foreign {
			t.Errorf("%s: %v, want %v; foreign %v", program, states, want, got.Foreign)
		}
		if v := got.Over(got.Drives[3]); v == nil || v.Cache.Write != "awb" || v.WWN != "0x600605b000000001" {
			t.Errorf("%s: %+v", program, v)
		}
	}
}

// TestTwins: two drives of one serial number, and two programs with another controller of one number.
func TestTwins(t *testing.T) {
	state := two()
	state.Controllers[0].Drives[1].Serial = "S0"
	tools, _ := node(t, "storcli64", state)
	_, c := find(t, tools)
	if _, err := c.Drive("", "S0"); err == nil {
		t.Error("one of two drives was taken")
	}
	if d, err := c.Drive("5000C500A1B2C3D1", "S0"); err != nil || d == nil {
		t.Errorf("%v, %v", d, err)
	}
	if d, err := c.Drive("", ""); d != nil || err != nil {
		t.Errorf("nothing was asked for, and %v was found, %v", d, err)
	}
	if _, _, err := raid.Find(t.Context(), raid.Readers(tools), 1); !errors.Is(err, raid.ErrNoController) {
		t.Error(err)
	}
	if _, _, err := raid.Find(t.Context(), raid.Readers(&host.Tools{Root: "/", Folders: []string{t.TempDir()}}), 0); !errors.Is(err, host.ErrMissing) {
		t.Error(err)
	}
}
