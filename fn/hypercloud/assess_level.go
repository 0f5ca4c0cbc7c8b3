package hypercloud

import "github.com/poolwright/poolwright/fn/change"

// assessRest judges what storage needs around it: definitions, roles, operators, drivers,
// and what has an engine apply the levels.
func assessRest(c *change.Change) {
	kind := c.Ref.GroupKind()
	if kind == gk(appsGroup, deploymentKind) && c.Ref.Name == toolboxName {
		assessToolbox(c)
		return
	}
	switch c.Action {
	case change.Create:
		c.Judge(change.Safe, "", "adds what others depend on")
		return
	case change.Remove:
		risk, text := removed(c)
		c.Judge(risk, "", text)
		return
	}
	for i := range c.Fields {
		f := &c.Fields[i]
		switch {
		case f.Under("metadata"):
		case engineKind(kind) && f.Shape == "spec.deletionPolicy" && f.New.Str() != "Orphan":
			c.Judge(change.Destructive, f.Path, "what it applied goes with it, as far as it has no protection of its own")
		default:
			if text := changed(c); text != "" {
				c.Judge(change.Disruptive, f.Path, text)
			}
		}
	}
}

// assessToolbox judges the tools of Ceph, on which nothing depends.
func assessToolbox(c *change.Change) {
	const text = "only people use it"
	if c.Action != change.Modify {
		c.Judge(change.Safe, "", text)
	}
	for i := range c.Fields {
		c.Judge(change.Safe, c.Fields[i].Path, text)
	}
}

func removed(c *change.Change) (change.Risk, string) {
	switch kind := c.Ref.GroupKind(); {
	case kind == gk(definitionGroup, definitionKind):
		return change.Destructive, "every object that it defines goes along"
	case kind == gk("", "Namespace"):
		return change.Destructive, "everything in it goes along"
	case engineKind(kind):
		return change.Disruptive, "what it applied no longer follows Git, and goes along where nothing protects it"
	}
	return change.Disruptive, "what depends on it is no longer looked after; the data stays"
}

// changed says what follows when an object is other than it was, "" where no rule knows.
func changed(c *change.Change) string {
	switch kind := c.Ref.GroupKind(); {
	case kind == gk(definitionGroup, definitionKind):
		return "every object of the kind has to fit the new definition: it belongs to an upgrade of its operator"
	case kind == gk(appsGroup, deploymentKind):
		return "the operator restarts, and one of another release upgrades what it looks after: daemons restart one after the other"
	case kind == gk(csiGroup, driverKind), kind == gk(csiGroup, operatorConfKind):
		return "the CSI drivers restart: no volume is attached, made or grown meanwhile; mounted ones stay"
	case kind.Group == rbacGroup, kind == gk("", "ServiceAccount"):
		return "what runs with it may do other things than before"
	case kind == gk("", "ConfigMap"):
		return "what reads it goes by the new settings"
	case engineKind(kind):
		return "the engine applies something else, or in another way"
	}
	return ""
}
