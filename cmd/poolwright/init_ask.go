package main

import (
	"bufio"
	"errors"
	"io"
	"strings"

	"github.com/poolwright/poolwright/cmd/internal/terminal"
)

// question asks for the value of a flag.
type question struct {
	text  string
	value *string
}

// ask asks on a terminal for what the spec needs most. An empty answer is the default,
// and so is the end of the input: without a terminal nothing is asked.
func (f *initFlags) ask(s streams, system string) error {
	if !terminal.Is(s.in) || !terminal.Is(s.err) {
		return nil
	}
	questions := []question{{"Nodes that may carry a pool, by label, such as storage=cstor [all]", &f.nodes}}
	if system == "cstor-local" {
		questions = append(questions, question{"Block devices that may be taken, such as spec.details.driveType=HDD [by the inventory, or all]", &f.disks})
	} else {
		questions = append(questions, question{"CSI driver [by the inventory, or to be filled in]", &f.Driver},
			question{"StorageClass of that driver [by the inventory, or to be filled in]", &f.StorageClass})
	}
	questions = append(questions, question{"RAID type: stripe, mirror, raidz or raidz2 [mirror]", &f.RAID})
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
