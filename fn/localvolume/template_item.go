package localvolume

import (
	"fmt"
	"strconv"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	d "github.com/poolwright/poolwright/schema/document"
)

// item is one Volume or VolumeGroup of a template.
type item struct {
	name, node string
	devices    []device     // by which its disks are pinned
	disks      []*disk.Disk // as its node reports them, a nil for one that it does not
	moved      []*disk.Disk // those of them that another node reports
	before     *krm.Object  // as it was rendered, or as it is in the cluster; nil for a new one
	gone       bool         // it was rendered, and is known not to live
	consent    bool         // it may go
	held       string       // why it is no longer wanted, or cannot be looked at; "" for neither
	dropped    bool         // it goes
	entry      *entry       // for the checks
}

// maxVolumeName is the longest value of a label: the name of a Volume is one of its PersistentVolume.
//
// Source: Kubernetes, Labels and Selectors, 1.36.
const maxVolumeName = 63

// itemName is the name of the i-th object of a template on a node, counted from 1.
func itemName(template, node string, i int) string {
	name := template + "-" + node
	if i > 1 {
		name += "-" + strconv.Itoa(i)
	}
	return cut(name, maxVolumeName)
}

// pin is by what a disk is remembered.
func pin(there *disk.Disk) device {
	id := there.Known()
	size := there.Size()
	return device{wwn: id.WWN, serial: id.Serial, size: amount{strconv.FormatInt(size, 10), size}}
}

// identityOf writes by what a disk is remembered.
func identityOf(of device) d.Node {
	n := d.Object()
	for _, f := range []struct{ key, value string }{{"wwn", of.wwn}, {"serial", of.serial}, {"size", of.size.text}} {
		if f.value != "" {
			n.Set(f.key, d.Text(f.value))
		}
	}
	return n
}

// object is an item as it is rendered.
func (t *template) object(i *item) *krm.Object {
	spec := d.Object(d.F("nodeName", d.Text(i.node)))
	if t.cfg.kind() == groupKind && t.cfg.wanted.Str("name") == "" {
		spec.Set("name", d.Text(t.Object.Name))
	}
	for _, f := range t.cfg.wanted.Fields() {
		if f.Key != raw && f.Key != partition || len(i.devices) == 0 {
			spec.Set(f.Key, f.Value.Made())
			continue
		}
		of := d.Object(d.F("disk", identityOf(i.devices[0])))
		for _, rest := range f.Value.Fields() {
			of.Set(rest.Key, rest.Value.Made())
		}
		spec.Set(f.Key, of)
	}
	if t.cfg.kind() == groupKind && len(i.devices) > 0 {
		list := d.List()
		for _, of := range i.devices {
			list.Add(identityOf(of))
		}
		spec.Set(devices, list)
	}
	o := krm.Make(group+"/"+version, t.cfg.kind(), "", i.name, d.F("spec", spec))
	metadata := t.Object.Node.Get("spec", "template", "metadata")
	for key, value := range metadata.StrMap("labels") {
		o.SetLabel(key, value)
	}
	for key, value := range metadata.StrMap("annotations") {
		o.SetAnnotation(key, value)
	}
	return o
}

// enter makes the item an entry, which is checked as what a person wrote.
func (t *template) enter(i *item) {
	i.entry = newEntry(t.Input, &system.Spec{Object: t.object(i)})
	i.entry.all, i.entry.template = t.all, t
	if i.before != nil {
		l := lockOfObject(i.before)
		i.entry.was = newPast(&l, i.entry.was.live)
	}
}

// lockOfObject is what a rendered Volume or VolumeGroup remembers.
func lockOfObject(o *krm.Object) lock {
	is := readDeclared(o)
	return lock{is, is.named()}
}

// called names the item with its kind.
func (t *template) called(i *item) string { return fmt.Sprintf("%s %s", t.cfg.kind(), i.name) }
