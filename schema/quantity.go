package schema

import (
	"fmt"
	"math"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/schema/quantity"
)

// checkQuantity holds a value against Kubernetes' own reading of quantities.
func (p *pass) checkQuantity(s *shape, at *place) {
	n := at.node
	if _, isBool := n.Bool(); isBool {
		p.wrongType(s, at)
		return
	}
	q, err := quantity.Parse(n.Value())
	switch {
	case err != nil:
		f := finding.Finding{Rule: "quantity", Proposed: repairedQuantity(n.Value())}
		f.Message = fmt.Sprintf("%s is not a quantity", shown(n.Value()))
		if f.Proposed != "" {
			f.Message += fmt.Sprintf(" (did you mean %q?)", f.Proposed)
		} else {
			f.Message += "; write a number with a unit, " + strings.TrimPrefix(s.wanted(), "a quantity ")
		}
		p.wrong(at, f)
	case q.Sign() < 0:
		p.wrong(at, finding.Finding{Rule: "quantity", Message: "must not be below 0, not " + n.Value()})
	case s.positive && q.IsZero():
		p.wrong(at, finding.Finding{Rule: "quantity", Message: "must be above 0; write " + s.wanted()})
	case s.positive && (q.CmpInt64(math.MaxInt64) > 0 || isCapped(q)):
		p.wrong(at, finding.Finding{Rule: "quantity", Message: fmt.Sprintf("%s is too large; the largest is %d bytes, 8Ei less one", shown(n.Value()), int64(math.MaxInt64))})
	case s.positive && !s.rounded && q.CmpInt64(q.Value()) != 0:
		f := finding.Finding{Rule: "quantity", Message: fmt.Sprintf("%s is no whole number of bytes", shown(n.Value()))}
		if whole, ok := strings.CutSuffix(n.Value(), "m"); ok {
			f.Proposed = whole + "M"
			f.Message += fmt.Sprintf(" (did you mean %q? m is a thousandth)", f.Proposed)
		} else {
			f.Message += "; write " + s.wanted()
		}
		p.wrong(at, f)
	}
}

// isCapped reports whether a quantity is what ParseQuantity makes, without an error, of
// one with a binary unit that is too large: no such unit divides the largest number.
func isCapped(q resource.Quantity) bool {
	return q.Format == resource.BinarySI && q.CmpInt64(math.MaxInt64) == 0
}

var quantityParts = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]+)$`)

// repairedQuantity is what was probably meant by 100GB, 100gi or 100 Gi, or "".
func repairedQuantity(text string) string {
	m := quantityParts.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return ""
	}
	unit := strings.ToUpper(m[2])
	short := strings.TrimSuffix(strings.TrimSuffix(unit, "B"), "I")
	if len(short) != 1 || !strings.Contains("KMGTPE", short) {
		return ""
	}
	switch {
	case strings.Contains(unit, "I"):
		short += "i"
	case short == "K":
		short = "k"
	}
	return m[1] + short
}

// checkWithin holds each amount of a mapping against the one in most.
func (p *pass) checkWithin(at *place, most *document.Node, name string) {
	for i := range at.node.Fields() {
		in := at.field(&at.node.Fields()[i])
		if p.bad[in.node] {
			continue
		}
		q, err := quantity.Parse(in.node.Value())
		if err != nil {
			continue
		}
		if limit, err := quantity.Parse(most.Str(in.key)); err == nil && q.Cmp(limit) > 0 {
			p.wrong(&in, finding.Finding{
				Rule:    "within",
				Message: fmt.Sprintf("must be at most what %s says (%s), not %s", name, most.Str(in.key), in.node.Value()),
			})
		}
	}
}
