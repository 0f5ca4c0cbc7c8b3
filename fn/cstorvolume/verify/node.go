package verify

import (
	"github.com/poolwright/poolwright/fn/conformance"
	"github.com/poolwright/poolwright/fn/cstor/volume"
	"github.com/poolwright/poolwright/fn/health"
)

// attachments verifies how a volume is staged and published on nodes.
func (p *proof) attachments(c *conformance.Check, v *volume.Chain) {
	for _, f := range v.Faults(p.facts) {
		report := c.Warn
		if f.Phase == health.Error {
			report = c.Error
		}
		report("attachment", f.Object.Ref, "%s", f.Text)
	}
}

// strayAttachments reports volumes that are gone and still staged somewhere.
func (p *proof) strayAttachments() {
	for _, o := range p.volumes.Strays {
		c := &conformance.Check{Subject: o.Ref}
		c.Error(conformance.LeftOver, o.Ref, "is left over on node %s: its volume %s does not exist; see that no pod there uses it, and delete it", volume.AttachmentNode(o), o.Node.Str("spec", "volume", "name"))
		p.checks = append(p.checks, *c)
	}
}

// driver verifies that the CSI driver runs, where there are volumes or claims for it.
func (p *proof) driver() {
	if len(p.checks) == 0 {
		return
	}
	lacks := volume.Lacks(p.facts)
	for i := range lacks {
		l := &lacks[i]
		subject := l.Object
		if n := len(p.checks); n == 0 || p.checks[n-1].Subject != subject {
			p.checks = append(p.checks, conformance.Check{Subject: subject})
		}
		c := &p.checks[len(p.checks)-1]
		if l.Later {
			c.Warn(ruleDriver, subject, "%s", l.Text)
		} else {
			c.Error(ruleDriver, subject, "%s", l.Text)
		}
	}
}
