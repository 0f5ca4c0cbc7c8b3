package cstor

import (
	"fmt"
	"slices"
	"strings"
)

// event is something that happens.
type event struct{ kind, a, b, c int }

// happening does it, and says what happened, "" for nothing.
type happening func(*history, event) (string, error)

// happenings lists what can happen. What leads on is there more than once.
func happenings() []happening {
	many := func(count int, all ...happening) []happening { return slices.Repeat(all, count) }
	return slices.Concat(
		many(30, turned),
		many(8, personHelps),
		many(3, poolFilled, volumeMade),
		many(2, timePasses, snapshotTaken, renderedOnly, appliedOnly, countsEdited, drainAsked),
		many(1, oldSnapshot, oldCommit, volumeDeleted, operatorPaused),
		many(1, nodeAdded, diskAdded, diskBroken, unfinalized),
		many(1, capacityRaised, policyEdited),
		many(1, groupsRaised, selectorEdited, consentGiven, consentWithdrawn, drainWithdrawn, replaceAsked, spareEdited),
		many(2, flagsEdited),
		[]happening{rarely(nodeCrashed), rarely(nodeLost), rarely(nodeRecreated), rarely(nodeRelabelled), rarely(diskPulled), rarely(disksMoved), rarely(configDeleted), rarely(timeoutEdited)},
	)
}

// rarely does something every third time.
func rarely(act happening) happening {
	return func(h *history, e event) (string, error) {
		if e.c%3 > 0 {
			return "", nil
		}
		return act(h, e)
	}
}

// personHelps does what a person does who reads what is wrong: a node comes back or is
// released, a disk is repaired or replaced.
func personHelps(h *history, e event) (string, error) {
	for _, m := range sorted(h.cluster.machines) {
		switch {
		case m.up:
		case e.b%4 > 0:
			return "a person brings node " + m.name + " back", h.cluster.Return(m.name)
		default:
			for _, c := range h.configs {
				c.allow("CStorClusterStorageSet/" + c.name + "-" + m.name)
			}
			return "a person lets node " + m.name + " go", nil
		}
	}
	for _, d := range sorted(h.cluster.pulled) {
		return "a person puts disk " + d.name + " back", h.cluster.Insert(d.name)
	}
	if e.b%2 > 0 {
		return replaceAsked(h, e)
	}
	return diskMended(h, e)
}

func pick[T any](all []T, i int) (T, bool) {
	if len(all) == 0 {
		var none T
		return none, false
	}
	return all[i%len(all)], true
}

func turned(h *history, e event) (string, error) {
	minutes := []int{1, 3, 6, 6}[e.a%4]
	err := h.turn(minutes)
	return fmt.Sprintf("snapshot, render, apply, %d minutes: %s", minutes, h.said()), err
}

// said is what the last render said of note, in short.
func (h *history) said() string {
	var all []string
	for _, f := range h.findings {
		if f.Rule == "step" || f.Severity == "error" || f.Severity == "warning" {
			all = append(all, fmt.Sprintf("%s %s: %.140s", f.Severity, f.Rule, f.Message))
		}
	}
	return strings.Join(all, "\n        ")
}

func timePasses(h *history, e event) (string, error) {
	h.cluster.Advance(1 + e.a%8)
	return fmt.Sprintf("%d minutes pass", 1+e.a%8), nil
}

func snapshotTaken(h *history, _ event) (string, error) {
	h.snapshot()
	return "a snapshot is taken", nil
}

func renderedOnly(h *history, _ event) (string, error) {
	if h.facts.objects == nil {
		return "", nil
	}
	h.render()
	return "rendered: " + h.said(), nil
}

func appliedOnly(h *history, _ event) (string, error) {
	return fmt.Sprintf("rendered/ is applied, refused: %v", h.apply()), nil
}

// oldSnapshot puts an earlier snapshot back, as a slow pipeline does, and renders. Beside what a
// person has put back that would be the whole package of then, in which nothing says that more
// was done since.
func oldSnapshot(h *history, e event) (string, error) {
	if h.reverted || h.fresh {
		return "", nil
	}
	recent := h.past[max(0, len(h.past)-6):]
	old, found := pick(recent, e.a)
	if !found || old.objects == nil {
		return "", nil
	}
	h.facts = old
	h.render()
	return fmt.Sprintf("rendered from an old snapshot (%d of %d): %s", e.a%len(recent), len(recent), h.said()), nil
}

// oldCommit puts back what was rendered before, and renders from a snapshot.
func oldCommit(h *history, e event) (string, error) {
	recent := h.commits[max(0, len(h.commits)-4):]
	old, found := pick(recent, e.a)
	if !found {
		return "", nil
	}
	h.rendered, h.reverted = old, true
	h.snapshot()
	h.render()
	return fmt.Sprintf("rendered/ is put back, and rendered anew: %s", h.said()), nil
}

func volumeMade(h *history, e event) (string, error) {
	c, _ := pick(h.configs, e.a)
	of, found := pick(h.clustersOf(c), e.c)
	if len(h.cluster.VolumeConfigs) > 6 || !found {
		return "", nil
	}
	h.volumes++
	name, replicas := fmt.Sprintf("v%d", h.volumes), 1+e.b%3
	h.cluster.Provision(name, of, replicas, "")
	h.cluster.Advance(2)
	return fmt.Sprintf("volume %s with %d replicas on %s", name, replicas, of), nil
}

func volumeDeleted(h *history, e event) (string, error) {
	v, found := pick(sorted(h.cluster.VolumeConfigs), e.a)
	if !found {
		return "", nil
	}
	h.cluster.Unprovision(v.Name)
	return "volume " + v.Name + " is deleted", nil
}

func poolFilled(h *history, e event) (string, error) {
	node, _ := pick(h.cluster.Machines(), e.a)
	percent := []int{10, 50, 78, 81, 84, 90}[e.b%6]
	return fmt.Sprintf("the pools on %s are %d%% full", node, percent), h.cluster.Fill(node, percent)
}

func operatorPaused(h *history, e event) (string, error) {
	name, _ := pick([]string{PoolOperator, VolumeOperator, PoolManagers, DeviceManager}, e.a)
	return fmt.Sprintf("%s does nothing for %d minutes", name, 3+e.b), h.cluster.Pause(name, 3+e.b)
}

func nodeAdded(h *history, e event) (string, error) {
	if len(h.cluster.Machines()) > 7 {
		return "", nil
	}
	return "node " + h.addNode(2+e.a%4) + " is new", nil
}

func diskAdded(h *history, e event) (string, error) {
	node, _ := pick(h.cluster.Machines(), e.a)
	if len(h.cluster.Disks(node)) > 8 {
		return "", nil
	}
	return "disk " + h.addDisk(node) + " is new in " + node, nil
}

// disk picks one, of a pool mostly.
func (h *history) disk(e event) (string, bool) {
	var pooled []string
	for _, c := range sorted(h.cluster.PoolClusters) {
		pooled = append(pooled, c.Spec.disks()...)
	}
	if name, found := pick(pooled, e.a); found && e.b%3 > 0 && h.cluster.disks[name] != nil {
		return name, true
	}
	return pick(h.cluster.Disks(""), e.a)
}

func diskBroken(h *history, e event) (string, error) {
	name, found := h.disk(e)
	if !found {
		return "", nil
	}
	return "disk " + name + " fails", h.cluster.Befall(func() error { return h.cluster.Break(name, true) })
}

func diskMended(h *history, _ event) (string, error) {
	for _, d := range sorted(h.cluster.disks) {
		if d.broken {
			return "disk " + d.name + " works again", h.cluster.Break(d.name, false)
		}
	}
	return "", nil
}

func diskPulled(h *history, e event) (string, error) {
	name, found := h.disk(e)
	if !found || h.cluster.disks[name].handle != "" {
		return "", nil
	}
	return "disk " + name + " is taken away", h.cluster.Befall(func() error { return h.cluster.Pull(name) })
}

// disksMoved puts the disks of a node into one that has none, and the old one goes.
func disksMoved(h *history, e event) (string, error) {
	from, _ := pick(h.cluster.Machines(), e.a)
	if len(h.cluster.Disks(from)) == 0 || len(h.cluster.Machines()) > 8 || h.cluster.Nodes[from] == nil {
		return "", nil
	}
	to := h.addNode(0)
	err := h.cluster.Lose(from)
	if err == nil {
		err = h.cluster.Befall(func() error { return h.cluster.Move(from, to) })
	}
	return fmt.Sprintf("node %s is lost, and its disks are in %s", from, to), err
}

func nodeCrashed(h *history, e event) (string, error) {
	node, _ := pick(h.cluster.Machines(), e.a)
	return "node " + node + " crashes", h.cluster.Crash(node)
}

func nodeLost(h *history, e event) (string, error) {
	node, _ := pick(h.cluster.Machines(), e.a)
	return "node " + node + " is lost", h.cluster.Lose(node)
}

func nodeRecreated(h *history, e event) (string, error) {
	n, found := pick(sorted(h.cluster.Nodes), e.a)
	if !found || !h.cluster.machines[n.Name].up {
		return "", nil
	}
	return "node " + n.Name + " is made anew", h.cluster.Recreate(n.Name)
}

func nodeRelabelled(h *history, e event) (string, error) {
	n, found := pick(sorted(h.cluster.Nodes), e.a)
	if !found {
		return "", nil
	}
	value := []string{"a", "b"}[e.b%2]
	return fmt.Sprintf("node %s has the label pool=%s", n.Name, value), h.cluster.Label(n.Name, "pool", value)
}

// unfinalized is what a person does because of a warning.
func unfinalized(h *history, _ event) (string, error) {
	stuck := h.cluster.Stuck()
	for _, name := range stuck {
		if err := h.cluster.Unfinalize(name); err != nil {
			return "", err
		}
	}
	if len(stuck) == 0 {
		return "", nil
	}
	return "a person takes the finalizers of " + strings.Join(stuck, ", "), nil
}

func countsEdited(h *history, e event) (string, error) {
	c, _ := pick(h.configs, e.a)
	c.minimum, c.maximum = 1+e.b%3, 0
	if e.c%3 > 0 {
		c.maximum = c.minimum + e.c%3
	}
	return fmt.Sprintf("%s wants %d to %d pools", c.name, c.minimum, c.maximum), nil
}

func groupsRaised(h *history, e event) (string, error) {
	c, _ := pick(h.configs, e.a)
	if c.groups > 2 {
		return "", nil
	}
	c.groups++
	return fmt.Sprintf("%s wants %d groups", c.name, c.groups), nil
}

func selectorEdited(h *history, e event) (string, error) {
	c, _ := pick(h.configs, e.a)
	c.label = []string{"", "", "a", "b"}[e.b%4]
	return fmt.Sprintf("%s selects %q", c.name, c.label), nil
}

func spareEdited(h *history, e event) (string, error) {
	c, _ := pick(h.configs, e.a)
	c.spare = e.b % 2
	return fmt.Sprintf("%s wants %d spares", c.name, c.spare), nil
}

func flagsEdited(h *history, e event) (string, error) {
	c, _ := pick(h.configs, e.a)
	if h.split && e.c%2 > 0 {
		c.limit = []int{0, 2, 3, 4}[e.b%4] * c.disks()
		return fmt.Sprintf("%s: at most %d disks in a CStorPoolCluster", c.name, c.limit), nil
	}
	if h.lists && e.c%4 > 0 {
		return poolsEdited(h, e)
	}
	switch e.b % 3 {
	case 0:
		c.noExpansion = e.c%3 == 0
		return fmt.Sprintf("%s: expansion disabled %v", c.name, c.noExpansion), nil
	case 1:
		c.autoReplace = !c.autoReplace
		return fmt.Sprintf("%s: replaces disks by itself %v", c.name, c.autoReplace), nil
	}
	c.compression = []string{"", "lz4", "off"}[e.c%3]
	return fmt.Sprintf("%s: compression %q", c.name, c.compression), nil
}

func timeoutEdited(h *history, e event) (string, error) {
	seconds := []int{5, 10, 20, 30}[e.a%4]
	h.cluster.SetWebhookTimeout(seconds)
	return fmt.Sprintf("the webhook is given %d seconds", seconds), nil
}

func consentGiven(h *history, e event) (string, error) {
	c, _ := pick(h.configs, e.a)
	node, _ := pick(h.cluster.Machines(), e.b)
	c.allow("CStorClusterStorageSet/" + c.name + "-" + node)
	return fmt.Sprintf("%s may lose the pool on %s", c.name, node), nil
}

func consentWithdrawn(h *history, e event) (string, error) {
	c, _ := pick(h.configs, e.a)
	if len(c.consent) == 0 {
		return "", nil
	}
	c.consent = nil
	return c.name + " has no consent any more", nil
}

func drainAsked(h *history, e event) (string, error) {
	c, _ := pick(h.configs, e.a)
	node, _ := pick(h.cluster.Machines(), e.b)
	c.drain = []string{node}
	c.allow("CStorClusterStorageSet/" + c.name + "-" + node)
	return fmt.Sprintf("%s is to be drained of %s", c.name, node), nil
}

func drainWithdrawn(h *history, e event) (string, error) {
	c, _ := pick(h.configs, e.a)
	if len(c.drain) == 0 {
		return "", nil
	}
	c.drain = nil
	return c.name + " is not to be drained any more", nil
}

// replaceAsked lists what is broken, and something that is not.
func replaceAsked(h *history, e event) (string, error) {
	c, _ := pick(h.configs, e.a)
	c.replace = nil
	for _, d := range sorted(h.cluster.disks) {
		if d.broken {
			c.replace = append(c.replace, d.name)
		}
	}
	if name, found := h.disk(e); found && e.c%2 == 0 {
		c.replace = append(c.replace, name)
	}
	return fmt.Sprintf("%s: replace %v", c.name, c.replace), nil
}
