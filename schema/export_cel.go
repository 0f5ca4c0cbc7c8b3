package schema

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"

	"github.com/poolwright/poolwright/schema/document"
)

// celRule is an expression that holds where a rule is kept.
type celRule struct {
	expr          string
	message, says string // fixed, or an expression
	at            string // the field that it is about; "" for the object
	up            int    // self is this many levels above the object
}

// cel is what an API server is given for a rule.
func (r *rule) cel() []celRule {
	var list []celRule
	for _, a := range r.value.Attributes(cue.DeclAttr) {
		if a.Name() != "cel" {
			continue
		}
		var c celRule
		var found bool
		c.expr, _ = a.String(0)
		c.message, _, _ = a.Lookup(1, "message")
		c.says, _, _ = a.Lookup(1, "says")
		if c.at, found, _ = a.Lookup(1, "at"); !found {
			c.at, _ = r.value.LookupPath(cue.ParsePath("at")).String()
		}
		up, _, _ := a.Lookup(1, "up")
		c.up, _ = strconv.Atoi(up)
		list = append(list, c)
	}
	return list
}

// text is what an attribute of a rule says; "" where there is none.
func (r *rule) text(attribute string) string {
	for _, a := range r.value.Attributes(cue.DeclAttr) {
		if a.Name() == attribute {
			text, _ := a.String(0)
			return text
		}
	}
	return ""
}

// validation is a rule on its way to the object that checks it.
type validation struct {
	celRule
	path string // from that object to the one that has the rule
}

// mostChecked is of how many items a rule may be, in lists of lists, at most: an API server
// reckons with all of them, whatever there are, and takes no definition that may cost too much.
// What it does not look at, vet and render refuse.
const mostChecked = 100_000

// validate sets what an API server has to check of an object in CEL.
func (w *schemaWriter) validate(s *shape, n *document.Node) {
	if w.dialect != CRD || w.items > mostChecked {
		return
	}
	var here []validation
	w.lifted = slices.DeleteFunc(w.lifted, func(v validation) bool {
		if v.up > 0 {
			return false
		}
		here = append(here, v)
		return true
	})
	if n.Get("additionalProperties") != nil {
		here = append(here, keyRules(s)...)
	}
	for i := range s.fields {
		if f := &s.fields[i]; f.within != "" {
			here = append(here, withinRule(f.name, f.within))
		}
	}
	for _, a := range s.aliases {
		here = append(here, s.aliasRules(a)...)
	}
	for i := range s.rules {
		for _, c := range s.rules[i].cel() {
			c.expr, c.says = w.expand(c.expr), w.expand(c.says)
			v := validation{celRule: c}
			if c.up > 0 {
				w.lifted = append(w.lifted, v)
			} else {
				here = append(here, v)
			}
		}
	}
	addValidations(n, here...)
}

// expand replaces each $name by that part.
func (w *schemaWriter) expand(expr string) string {
	return partName.ReplaceAllStringFunc(expr, func(name string) string {
		part, found := w.parts[name]
		if !found {
			panic("schema: CEL refers to " + name + ", which is not there")
		}
		return part
	})
}

var partName = regexp.MustCompile(`\$[A-Za-z]+`)

// addValidations adds rules to those of an object.
func addValidations(to *document.Node, rules ...validation) {
	if len(rules) == 0 {
		return
	}
	list := document.List(to.Seq("x-kubernetes-validations")...)
	for _, v := range rules {
		n := document.Object(document.F("rule", document.Text(v.expr)))
		if v.says != "" {
			n.Set("messageExpression", document.Text(v.says))
		} else {
			n.Set("message", document.Text(v.message))
		}
		path := v.path
		if v.at != "" {
			path += pathStep(v.at)
		}
		if path != "" {
			n.Set("fieldPath", document.Text(path))
		}
		list.Add(n)
	}
	to.Set("x-kubernetes-validations", list)
}

// pathStep is a field in a fieldPath.
func pathStep(name string) string {
	if strings.Contains(name, "-") {
		return "['" + name + "']"
	}
	return "." + name
}

// celName is a field as CEL can name it.
func celName(name string) string {
	return strings.NewReplacer("-", "__dash__", ".", "__dot__", "/", "__slash__").Replace(name)
}

// celText is a text as CEL writes it.
func celText(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text) + "'"
}

// hasPath is true where the field at a path is there.
func hasPath(path []string) string {
	var parts []string
	name := "self"
	for _, key := range path {
		name += "." + celName(key)
		parts = append(parts, "has("+name+")")
	}
	return strings.Join(parts, " && ")
}

// aliasRules allow an old name or the current one, and ask for one of them where
// the field is required.
func (s *shape) aliasRules(a alias) []validation {
	target := strings.Join(a.new, ".")
	old := "has(self." + celName(a.old) + ")"
	rules := []validation{{celRule: celRule{
		expr:    fmt.Sprintf("!%s || !(%s)", old, hasPath(a.new)),
		message: fmt.Sprintf("is the old name of %s, which is there too; remove one of them", target),
		at:      a.old,
	}}}
	outer, f := s, s.field(a.new[0])
	var path string
	for _, key := range a.new[1:] {
		path += pathStep(f.name)
		outer, f = f.shape, f.field(key)
	}
	if !f.required {
		return rules
	}
	expr := fmt.Sprintf("%s || %s", old, hasPath(a.new))
	if outer != s {
		// Where nothing of the object around it is given, neither has this to be.
		given := []string{hasPath(a.new[:len(a.new)-1])}
		for _, other := range s.aliases {
			if other.new[0] == a.new[0] {
				given = append(given, "has(self."+celName(other.old)+")")
			}
		}
		expr = fmt.Sprintf("!(%s) || %s", strings.Join(given, " || "), expr)
	}
	return append(rules, validation{celRule: celRule{
		expr:    expr,
		message: "is missing; write " + f.wanted(),
		at:      f.name,
	}, path: path})
}

// keyRules hold the keys of a map against what they must be.
func keyRules(s *shape) []validation {
	var fits []string
	if s.keys.maxLen > 0 {
		fits = append(fits, fmt.Sprintf("k.size() <= %d", s.keys.maxLen))
	}
	if s.keys.pattern != nil {
		fits = append(fits, "k.matches("+celText(s.keys.pattern.String())+")")
	}
	if len(fits) == 0 {
		return nil
	}
	fit := strings.Join(fits, " && ")
	if known := s.names(); len(known) > 0 {
		for i := range known {
			known[i] = celText(known[i])
		}
		fit = "k in [" + strings.Join(known, ", ") + "] || " + fit
	}
	return []validation{{celRule: celRule{
		expr: "self.all(k, " + fit + ")",
		says: fmt.Sprintf(`'"' + self.filter(k, !(%s))[0] + %s`, fit, celText(`" is no key for this; write `+s.keys.wanted())),
	}}}
}

// withinRule holds each amount of a map against that of another.
func withinRule(name, most string) validation {
	self, limit := "self."+celName(name), "self."+celName(most)
	above := fmt.Sprintf("k in %[2]s && isQuantity(string(%[1]s[k])) && isQuantity(string(%[2]s[k])) && "+
		"quantity(string(%[1]s[k])).isGreaterThan(quantity(string(%[2]s[k])))", self, limit)
	return validation{celRule: celRule{
		expr: fmt.Sprintf("!has(%s) || !has(%s) || %s.all(k, !(%s))", self, limit, self, above),
		says: fmt.Sprintf("%[1]s.filter(k, %[2]s).map(k, k + ' must be at most what %[3]s says (' + string(%[4]s[k]) + '), not ' + string(%[1]s[k]))[0]",
			self, above, most, limit),
		at: name,
	}}
}

// quantityRules are those of a quantity, see checkQuantity.
func quantityRules(s *shape) []validation {
	const self, amount = "string(self)", "quantity(string(self))"
	const quoted = `'"' + ` + self + ` + `
	readable := "isQuantity(" + self + ")"
	rules := []celRule{
		{expr: readable, says: quoted + celText(`" is not a quantity; write a number with a unit, `+strings.TrimPrefix(s.wanted(), "a quantity "))},
		{expr: "!" + amount + ".isLessThan(quantity('0'))", says: "'must not be below 0, not ' + " + self},
	}
	if s.positive {
		rules = append(rules, celRule{expr: amount + ".compareTo(quantity('0')) != 0", message: "must be above 0; write " + s.wanted()})
	}
	if s.positive && !s.rounded {
		rules = append(rules, celRule{
			expr: "double(int(" + amount + ".asApproximateFloat())) == " + amount + ".asApproximateFloat()",
			says: quoted + `'" is no whole number of bytes'`,
		})
	}
	list := make([]validation, len(rules))
	for i, r := range rules {
		if r.expr != readable {
			r.expr = "!" + readable + " || " + r.expr
		}
		list[i] = validation{celRule: r}
	}
	return list
}
