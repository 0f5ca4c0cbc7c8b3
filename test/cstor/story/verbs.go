package story

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/poolwright/poolwright/test/cstor"
)

// verb does one thing to a cluster.
type verb func(s scene, args []string) error

// verbs are what the command cstor can do.
func verbs() map[string]verb {
	onNode := func(act func(*cstor.Cluster, string) error) verb {
		return exactly(1, func(s scene, args []string) error {
			defer s.cluster.Advance(1)
			return act(s.cluster, args[0])
		})
	}
	return map[string]verb{
		// What there is.
		"nodes":   addNodes,
		"disk":    exactly(3, addDisk),
		"volumes": addVolumes,
		"clone":   exactly(3, clone),
		"delete":  exactly(1, func(s scene, args []string) error { s.cluster.Unprovision(args[0]); return nil }),
		"timeout": exactly(1, timeout),

		// What happens to it.
		"crash":    onNode((*cstor.Cluster).Crash),
		"lose":     onNode((*cstor.Cluster).Lose),
		"return":   onNode((*cstor.Cluster).Return),
		"recreate": onNode(func(c *cstor.Cluster, node string) error { return c.Recreate(node) }),
		"break": onNode(func(c *cstor.Cluster, disk string) error {
			return c.Befall(func() error { return c.Break(disk, true) })
		}),
		"mend":   onNode(func(c *cstor.Cluster, disk string) error { return c.Break(disk, false) }),
		"pull":   onNode(func(c *cstor.Cluster, disk string) error { return c.Befall(func() error { return c.Pull(disk) }) }),
		"insert": onNode(func(c *cstor.Cluster, disk string) error { return c.Insert(disk) }),
		"move": exactly(2, func(s scene, args []string) error {
			defer s.cluster.Advance(1)
			return s.cluster.Befall(func() error { return s.cluster.Move(args[0], args[1]) })
		}),
		"label": exactly(3, func(s scene, args []string) error { return s.cluster.Label(args[0], args[1], args[2]) }),
		"fill": exactly(2, withNumber(func(s scene, node string, percent int) error {
			defer s.cluster.Advance(1)
			return s.cluster.Fill(node, percent)
		})),
		"pause": exactly(2, withNumber(func(s scene, operator string, minutes int) error { return s.cluster.Pause(operator, minutes) })),
		"unfinalize": exactly(0, func(s scene, _ []string) error {
			for _, name := range s.cluster.Stuck() {
				if err := s.cluster.Unfinalize(name); err != nil {
					return err
				}
			}
			return nil
		}),
		"relabel": exactly(2, func(s scene, args []string) error { return s.cluster.Relabel(args[0], args[1]) }),

		// What people and engines do, and time.
		"inventory": exactly(1, func(s scene, args []string) error { return s.inventory(args[0]) }),
		"apply":     exactly(1, func(s scene, args []string) error { return s.apply(args[0]) }),
		"revert": exactly(1, func(s scene, args []string) error {
			return s.cluster.Revert(func() error { return s.apply(args[0]) })
		}),
		"advance": exactly(1, advance),
		"turn":    turn,
		"settle":  exactly(1, settle),
		"show": exactly(0, func(s scene, _ []string) error {
			_, err := fmt.Fprint(s.ts.Stdout(), s.cluster)
			return err
		}),
	}
}

func exactly(count int, act verb) verb {
	return func(s scene, args []string) error {
		if len(args) != count {
			return fmt.Errorf("takes %d arguments", count)
		}
		return act(s, args)
	}
}

func withNumber(act func(s scene, what string, number int) error) verb {
	return func(s scene, args []string) error {
		number, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		return act(s, args[0], number)
	}
}

// addNodes adds nodes: NAME[,NAME...] KEY=VALUE..., where disks, size, host and zone are known
// and all others are labels. A node n1 gets the disks n1-0, n1-1 ...
func addNodes(s scene, args []string) error {
	if len(args) == 0 {
		return errors.New("takes names of nodes")
	}
	disks, size, host, labels := 0, "100Gi", "", map[string]string{}
	for _, arg := range args[1:] {
		key, value, _ := strings.Cut(arg, "=")
		switch key {
		case "disks":
			n, err := strconv.Atoi(value)
			if err != nil {
				return err
			}
			disks = n
		case "size":
			size = value
		case "host":
			host = value
		case "zone":
			labels["topology.kubernetes.io/zone"] = value
		default:
			labels[key] = value
		}
	}
	for name := range strings.SplitSeq(args[0], ",") {
		s.cluster.AddNode(name, host, labels)
		for i := range disks {
			if err := addDisk(s, []string{name, fmt.Sprintf("%s-%d", name, i), size}); err != nil {
				return err
			}
		}
	}
	s.cluster.Advance(1)
	return nil
}

// addDisk adds a disk: NODE NAME SIZE.
func addDisk(s scene, args []string) error {
	size, err := resource.ParseQuantity(args[2])
	if err != nil {
		return err
	}
	s.cluster.AddDisk(args[0], args[1], size.Value())
	return nil
}

// addVolumes makes volumes: CLUSTER REPLICAS NAME..., where db-1..db-9 is all of them.
func addVolumes(s scene, args []string) error {
	if len(args) < 3 {
		return errors.New("takes a cluster, a number of replicas, and names")
	}
	replicas, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	for _, name := range args[2:] {
		s.cluster.Provision(name, args[0], replicas, "")
	}
	s.cluster.Advance(3)
	return nil
}

// clone makes a volume: CLUSTER NAME SOURCE, on the pools of its source.
func clone(s scene, args []string) error {
	s.cluster.Provision(args[1], args[0], 0, args[2])
	s.cluster.Advance(3)
	return nil
}

func timeout(s scene, args []string) error {
	seconds, err := strconv.Atoi(args[0])
	if err == nil {
		s.cluster.SetWebhookTimeout(seconds)
	}
	return err
}

func advance(s scene, args []string) error {
	n, err := strconv.Atoi(args[0])
	if err == nil {
		s.cluster.Advance(n)
	}
	return err
}

// turn takes DIR [MINUTES].
func turn(s scene, args []string) error {
	if len(args) == 1 {
		return s.turn(args[0], minutes)
	}
	return exactly(2, withNumber(scene.turn))(s, args)
}

// mostTurns is more than any story takes.
const mostTurns = 60

func settle(s scene, args []string) error {
	changes, err := s.settle(args[0], mostTurns)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.ts.Stdout(), "at rest after %d turns\n%s", changes, s.cluster)
	return err
}
