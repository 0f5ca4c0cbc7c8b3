package localvolume

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// reportedController is a RAID controller as a NodeInventory has it, or the reason why the agent did
// not understand one.
type reportedController struct {
	number *int64 // nil where not even that was understood
	reason string
	drives []reportedDrive
}

// reportedDrive is a drive behind a RAID controller.
type reportedDrive struct {
	controller      int64
	port            string // of a Smart Array controller
	enclosure, slot *int64
	wwn, serial     string
	state           string // what the controller has made of it
	path            string // of the disk that it alone is, or ""
	owner           string // Kind/name whose virtual drive is on it, or ""
	usable          bool
	reason          string // why not
}

func readControllers(items []document.Node) []reportedController {
	var all []reportedController
	for i := range items {
		c := reportedController{reason: items[i].Str("reason")}
		number, told := items[i].Get("number").Int()
		if told {
			c.number = &number
		}
		for _, n := range items[i].Seq("drives") {
			d := reportedDrive{
				controller: number, port: n.Str("port"), wwn: disk.WWN(n.Str("wwn")), serial: strings.TrimSpace(n.Str("serial")),
				state: n.Str("state"), path: n.Str("path"), owner: n.Str("owner"), reason: n.Str("reason"),
			}
			d.usable, _ = n.Get("usable").Bool() // what cannot be read is not usable
			if enclosure, told := n.Get("enclosure").Int(); told {
				d.enclosure = &enclosure
			}
			if slot, told := n.Get("slot").Int(); told {
				d.slot = &slot
			}
			c.drives = append(c.drives, d)
		}
		all = append(all, c)
	}
	return all
}

// drivesOf lists the drives that have the WWN or the serial number of a description: those that have all of
// it, if there are any.
func drivesOf(r *report, of device) []reportedDrive {
	var all, some []reportedDrive
	for _, c := range r.controllers {
		for _, d := range c.drives {
			wwn, serial := of.wwn != "" && of.wwn == d.wwn, of.serial != "" && of.serial == d.serial
			switch {
			case wwn == (of.wwn != "") && serial == (of.serial != ""):
				all = append(all, d)
			case wwn, serial:
				some = append(some, d)
			}
		}
	}
	if len(all) > 0 {
		return all
	}
	return some
}

// same reports whether it is the same drive of a node: it is identified by where it is plugged in.
func (d reportedDrive) same(o reportedDrive) bool {
	return d.controller == o.controller && d.port == o.port && d.place() == o.place()
}

// ref names the drive for people: it is no object.
func (d reportedDrive) ref(node string) finding.Ref {
	return finding.Ref{Kind: "Drive", Namespace: node, Name: fmt.Sprintf("controller %d, %s", d.controller, d.place())}
}

// place is where the drive is plugged in, as enclosure:slot.
func (d reportedDrive) place() string {
	text := ":"
	if d.enclosure != nil {
		text = strconv.FormatInt(*d.enclosure, 10) + text
	}
	if d.slot != nil {
		text += strconv.FormatInt(*d.slot, 10)
	}
	return text
}
