package main

import (
	"bufio"
	"errors"
	"io"
	"strings"

	"github.com/poolwright/poolwright/terminal"
)

// question asks for the value of a flag.
type question struct {
	text  string
	value *string
}

// ask asks on a terminal for what the spec needs most. An empty answer is the default,
// and so is the end of the input: without a terminal nothing is asked.
func (f *initFlags) ask(s streams) error {
	if !terminal.Is(s.in) || !terminal.Is(s.err) {
		return nil
	}
	var questions []question
	for _, q := range []struct {
		value string // of the template
		question
	}{
		{"Nodes", question{"Nodes that may carry a pool, by label, such as storage=cstor [all]", &f.nodes}},
		{"Disks", question{"Block devices that may be taken, such as spec.details.driveType=HDD [by the inventory, or all]", &f.disks}},
		{"Driver", question{"CSI driver [by the inventory, or to be filled in]", &f.Driver}},
		{"StorageClass", question{"StorageClass of that driver [by the inventory, or to be filled in]", &f.StorageClass}},
		{"RAID", question{"RAID type: stripe, mirror, raidz or raidz2 [mirror]", &f.RAID}},
	} {
		if f.template.Uses(q.value) {
			questions = append(questions, q.question)
		}
	}
	return askAll(bufio.NewReader(s.in), s.err, questions, f.readSelectors)
}

// askAll asks one question after the other, each until check takes the answer.
func askAll(in *bufio.Reader, out io.Writer, questions []question, check func() error) error {
	for _, q := range questions {
		for {
			terminal.Printf(out, "%s: ", q.text)
			answer, err := in.ReadString('\n')
			*q.value = strings.TrimSpace(answer)
			wrong := check()
			switch {
			case errors.Is(err, io.EOF):
				terminal.Println(out)
				return wrong
			case err != nil:
				return err
			}
			if wrong == nil {
				break
			}
			terminal.Println(out, wrong)
		}
	}
	return nil
}
