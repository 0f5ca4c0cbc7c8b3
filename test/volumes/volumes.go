// Package volumes carries previews out: what a cluster has once the operators of cStor have
// made the chain that a preview shows. Proofs of verify begin with it, and the benchmark.
package volumes

import (
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/cstorvolume/preview"
	"github.com/poolwright/poolwright/fn/krm"
	d "github.com/poolwright/poolwright/schema/document"
)

// Version is that of the operators, where nothing else says it.
const Version = "3.6.0"

// Maker makes volumes. It remembers the budgets that volumes on the same pools share.
type Maker struct {
	// Choose takes so many of the candidates of a volume.
	Choose  func(candidates []string, n int) []string
	budgets map[string]bool
}

var (
	holePool = regexp.MustCompile(`<pool (\d+) of [^>]*>`)
	holeUID  = regexp.MustCompile(`<uid of ([a-z][^ >]*)>`)
	holeHost = regexp.MustCompile(`<host of ([^>]*)>`)
)

// Make returns the objects of a chain as a cluster has them, healthy. The claim gets the uid.
func (m *Maker) Make(c preview.Chain, uid string) ([]*krm.Object, error) {
	chosen := slices.Clone(c.On)
	unknown := 0
	for _, o := range c.Objects {
		if o.Kind == "CStorVolumeReplica" && holePool.MatchString(o.Name) {
			unknown++
		}
	}
	chosen = append(chosen, m.Choose(c.Candidates, unknown)...)
	pairs := []string{
		"<uid of the claim>", uid, "<uid of the CStorVolumeConfig>", "uid-config-" + uid, "<uid of the CStorVolume>", "uid-volume-" + uid,
		"<IP of the Service>", "10.0.0.1", "<hash of its policy>", "123", "<version of the operators>", Version,
		"<5 random characters>", budgetSuffix(chosen), "<snapshot for the clone>", "clone-" + uid,
	}
	for i, name := range chosen {
		n := i + 1
		pairs = append(pairs, fmt.Sprintf("<uid of pool %d>", n), "uid-"+name, fmt.Sprintf("<host of pool %d>", n), "host-"+name)
	}
	known := strings.NewReplacer(pairs...)
	var made []*krm.Object
	for _, o := range c.Objects {
		text := string(d.Append(nil, o.Node, 0))
		text = holePool.ReplaceAllStringFunc(text, func(hole string) string {
			var n int
			_, _ = fmt.Sscanf(hole, "<pool %d of", &n) // the expression has a number
			return chosen[n-1]
		})
		text = known.Replace(text)
		text = holeHost.ReplaceAllString(holeUID.ReplaceAllString(text, "uid-$1"), "host-$1")
		if strings.Contains(text, "<") {
			return nil, fmt.Errorf("what is to be made has a hole left:\n%s", text)
		}
		objects, err := krm.Parse(&d.Source{Name: o.Name, Data: []byte(text)})
		if err != nil {
			return nil, err
		}
		one := objects[0]
		if one.Kind == "PodDisruptionBudget" {
			if m.budgets == nil {
				m.budgets = map[string]bool{}
			}
			if m.budgets[one.Name] {
				continue
			}
			m.budgets[one.Name] = true
		}
		settle(one, uid)
		made = append(made, one)
	}
	return made, nil
}

// budgetSuffix is the same for the same pools.
func budgetSuffix(pools []string) string {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(strings.Join(slices.Sorted(slices.Values(pools)), ",")))
	return fmt.Sprintf("%08x", sum.Sum32())
}

// settle says of an object what its operator says when all is well.
func settle(o *krm.Object, uid string) {
	setUID := func(value string) { o.Node.Get("metadata").Set("uid", d.Text(value)) }
	version := d.Object(d.F("desired", d.Text(Version)), d.F("status", d.Object(d.F("current", d.Text(Version)))))
	phase := func(name string) { o.Node.Set("status", d.Object(d.F("phase", d.Text(name)))) }
	switch o.Kind {
	case "PersistentVolumeClaim":
		setUID(uid)
		phase("Bound")
		o.Node.Get("status").Set("capacity", d.Object(d.F("storage", d.Text(o.Node.Str("spec", "resources", "requests", "storage")))))
	case "PersistentVolume":
		phase("Bound")
	case "CStorVolumeConfig":
		setUID("uid-config-" + uid)
		o.Node.Set("versionDetails", version)
	case "CStorVolume":
		setUID("uid-volume-" + uid)
		phase("Healthy")
	case "CStorVolumeReplica":
		setUID("uid-" + o.Name)
		phase("Healthy")
	case "Deployment":
		o.Node.Set("status", d.Object(
			d.F("readyReplicas", d.Int(1)),
			d.F("conditions", d.List(d.Object(d.F("type", d.Text("Available")), d.F("status", d.Text("True"))))),
		))
	}
}
