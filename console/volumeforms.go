package console

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/console/edit"
	"github.com/poolwright/poolwright/console/page"
	"github.com/poolwright/poolwright/console/view"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/stock"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/quantity"
)

// choice is a type that a form is for.
type choice struct {
	source         stock.Source
	name, sentence string
}

func volumeChoices() []choice {
	return []choice{
		{stock.LVM, "LVM LV", "A slice of a volume group: several Volumes share a disk, and each can grow."},
		{stock.Disk, "Whole disk", "A disk of its own, for software that wants all of it."},
		{stock.Partition, "Partition", "A part of a disk without LVM; partitions of one disk share it."},
		{stock.RAID, "RAID", "A drive behind a RAID controller, shown as a volume of its own."},
		{stock.Sparse, "Sparse file", "A file on the disk of the node, for tests only."},
	}
}

func groupChoices() []choice {
	return []choice{
		{stock.Devices, "Disks", "On one or more whole disks of a node."},
		{stock.Sparse, "Sparse file", "On a file on the disk of the node, for tests only."},
		{stock.OnVolume, "On a Volume", "On the device of a Volume of mode Block."},
	}
}

// choosing is the page that asks for a type.
func choosing(title, path string, choices []choice) *form {
	f := &form{title: title, path: path, guarded: choose}
	var links []page.Described
	for _, c := range choices {
		links = append(links, page.Described{Link: page.Link{Text: c.name, Path: path + "?type=" + string(c.source)}, Sentence: c.sentence})
	}
	f.before = []page.Block{{Links: links}}
	return f
}

// source is the type that a form is for, "" if none is asked for.
func sourceOf(choices []choice, asked string) (stock.Source, *problem) {
	if asked == "" {
		return "", nil
	}
	for _, c := range choices {
		if string(c.source) == asked {
			return c.source, nil
		}
	}
	return "", missing("type "+asked, "")
}

func volumeForm(x *exchange, values url.Values) (*form, *problem) {
	const title, path = "Create Volume", "/volumes/new"
	source, failed := sourceOf(volumeChoices(), values.Get("type"))
	if failed != nil || source == "" {
		return choosing(title, path, volumeChoices()), failed
	}
	order := stock.Order{Source: source, Name: typed(values, "name"), Size: typed(values, "size"), Class: typed(values, "class"), Mode: typed(values, "mode"), Node: typed(values, "node")}
	f := &form{title: title, path: path, wrong: map[string]string{}, hidden: []page.Option{{Text: "type", Value: string(source)}}, back: view.Path("volumes", order.Name), fieldOf: volumeField}
	f.fields = []page.Field{{Name: "name", Label: "Name", Value: order.Name, Help: "Lowercase letters, digits and dashes."}}
	if order.Name == "" {
		f.wrong["name"] = "write a name"
		f.back = "/volumes"
	}
	if source == stock.LVM {
		f.groupField(x, values, &order)
		if len(f.fields) == 1 {
			f.fields, f.guarded = nil, "there is no Volume Group that a Volume could be cut from"
			f.before = []page.Block{{Links: []page.Described{{Link: page.Link{Text: "Create Volume Group", Path: "/volumegroups/new"}, Sentence: "A Volume Group is what Volumes are cut from."}}}}
			return f, nil
		}
	} else {
		f.nodeField(x, &order)
	}
	if source == stock.Disk || source == stock.Partition || source == stock.RAID {
		f.deviceField(x, values, &order)
	}
	if source != stock.Disk && source != stock.RAID {
		f.sizeField(x, &order)
	}
	class := page.Field{Name: "class", Label: "Storage class", Value: order.Class, Help: "The StorageClass of the PersistentVolume, and of the claims that get it."}
	for _, name := range x.Classes() {
		class.Suggest = append(class.Suggest, page.Option{Value: name})
	}
	if order.Class == "" {
		f.wrong["class"] = "write the name of a StorageClass"
	}
	mode := page.Field{Name: "mode", Label: "Mode", Value: order.Mode, Options: []page.Option{{Value: "Filesystem", Text: "Filesystem"}, {Value: "Block", Text: "Block"}}}
	labels := page.Field{Name: "labels", Label: "Labels", Value: values.Get("labels"), Help: "Of the PersistentVolume: key=value, with commas between several."}
	order.Labels = map[string]string{}
	for entry := range strings.SplitSeq(values.Get("labels"), ",") {
		key, value, found := strings.Cut(strings.TrimSpace(entry), "=")
		switch {
		case key == "" && !found:
		case !found:
			f.wrong["labels"] = fmt.Sprintf("%q is not key=value", entry)
		default:
			order.Labels[key] = value
		}
	}
	f.fields = append(f.fields, class, mode, labels)
	f.writing = ordered(x, order)
	return f, nil
}

// ordered is the change that adds what was ordered.
func ordered(x *exchange, order stock.Order) writing {
	o := x.Order(order)
	if o == nil {
		return writing{"Add " + order.Name, func(*view.View) (edit.Files, *problem) { return nil, refuse(404, "not-found", "no system has volumes") }}
	}
	return addSpec(o, document.Append(nil, o.Node, 0))
}

func typed(values url.Values, name string) string { return strings.TrimSpace(values.Get(name)) }

// volumeField is the field of the form for a field of the spec.
func volumeField(path string) string {
	for _, of := range []struct{ path, field string }{
		{"metadata.name", "name"}, {"spec.nodeName", "node"}, {"spec.storageClassName", "class"}, {"spec.mode", "mode"}, {"spec.template", "labels"}, {"spec.volumeRef", "volume"},
	} {
		if strings.HasPrefix(path, of.path) {
			return of.field
		}
	}
	switch {
	case strings.HasSuffix(path, ".size") && !strings.Contains(path, ".disk."):
		return "size"
	case strings.HasSuffix(path, ".vgName"):
		return "group"
	case strings.HasPrefix(path, "spec.") && strings.Count(path, ".") > 0:
		return "device"
	}
	return ""
}

// groupField asks for the group, with what is free in each.
func (f *form) groupField(x *exchange, values url.Values, order *stock.Order) {
	field := page.Field{Name: "group", Label: "Volume Group", Value: values.Get("group")}
	for _, g := range x.Groups() {
		if g.Stock.Owner != "" || !g.Stock.Spec {
			continue
		}
		free := "unknown"
		if g.Free >= 0 {
			free = g.Free.String()
		}
		text := fmt.Sprintf("%s on %s, %s free", g.LVMName, g.Node, free)
		field.Options = append(field.Options, page.Option{Value: g.Name, Text: text})
		if field.Value == "" {
			field.Value = g.Name
		}
		if field.Value == g.Name {
			order.LVM, order.Node = g.Stock.LVM, g.Stock.Node
		}
	}
	if len(field.Options) == 0 {
		return
	}
	if order.LVM == "" {
		f.wrong["group"] = fmt.Sprintf("there is no Volume Group %q", field.Value)
	}
	f.fields = append(f.fields, field)
}

// sizeField asks for a size; of a slice it says what is free.
func (f *form) sizeField(x *exchange, order *stock.Order) {
	field := page.Field{Name: "size", Label: "Size", Value: order.Size, Help: "Such as 100Gi."}
	if order.Source == stock.LVM {
		for _, g := range x.Groups() {
			if g.Stock.LVM != order.LVM || g.Stock.Node != order.Node || g.Free < 0 {
				continue
			}
			field.Help = fmt.Sprintf("Such as 100Gi; %s of %s on %s are free.", g.Free, g.LVMName, g.Node)
			if size := quantity.Bytes(order.Size); size > int64(g.Free) {
				f.wrong["size"] = fmt.Sprintf("%s is more than %s on %s has free: %s", order.Size, g.LVMName, g.Node, g.Free)
			}
		}
	}
	if q, err := quantity.Parse(order.Size); err != nil || q.Sign() <= 0 {
		f.wrong["size"] = fmt.Sprintf("%q is no size; write one such as 100Gi", order.Size)
	}
	f.fields = append(f.fields, field)
}

func (f *form) nodeField(x *exchange, order *stock.Order) {
	field := page.Field{Name: "node", Label: "Node", Value: order.Node}
	for _, n := range x.Nodes() {
		field.Options = append(field.Options, page.Option{Value: n.Name, Text: n.Name})
	}
	if len(field.Options) > 0 && order.Node == "" {
		order.Node = field.Options[0].Value
	}
	if order.Node == "" {
		f.wrong["node"] = "write the name of a node"
	}
	f.fields = append(f.fields, field)
}

// mostOffered is how many disks a form offers of all nodes; of more it offers those of the chosen node.
const mostOffered = 200

// usable are the disks that a form offers.
func usable(x *exchange, source stock.Source, node string) []*view.Disk {
	var all []*view.Disk
	disks := x.Disks()
	for i := range disks {
		if d := &disks[i]; source == stock.RAID && d.BehindRAID() || source != stock.RAID && d.Usable && !d.BehindRAID() {
			all = append(all, d)
		}
	}
	if len(all) > mostOffered {
		all = slices.DeleteFunc(all, func(d *view.Disk) bool { return string(d.Node) != node })
	}
	return all
}

func diskOption(d *view.Disk) page.Option {
	return page.Option{Value: string(d.Node) + "/" + d.Name(), Text: strings.Join(slices.DeleteFunc([]string{string(d.Node) + ": " + string(d.Path), d.Size.String(), string(d.Kind), string(d.Serial)}, func(s string) bool { return s == "" }), " ")}
}

// chosenDisk finds the disk of a value of a form, as NODE/NAME or a name on the node.
func chosenDisk(x *exchange, order *stock.Order, value string) (*view.Disk, string) {
	node, name, found := strings.Cut(value, "/")
	if !found || name == "" || node == "" {
		node, name = order.Node, value
	}
	d, near := x.DiskNamed(node, name)
	switch {
	case value == "":
		return nil, "choose a disk"
	case d == nil && near != "":
		return nil, fmt.Sprintf("node %s has no disk %s (did you mean %q?)", node, name, near)
	case d == nil:
		return nil, fmt.Sprintf("node %s has no disk %s", node, name)
	case order.Node != "" && order.Node != string(d.Node):
		return nil, fmt.Sprintf("%s is on node %s, and the Node is %s", d.Path, d.Node, order.Node)
	}
	return d, ""
}

func (f *form) deviceField(x *exchange, values url.Values, order *stock.Order) {
	field := page.Field{Name: "device", Label: "Device", Value: values.Get("device"), Help: "The disks that may be used; the page Disks says why the others may not."}
	for _, d := range usable(x, order.Source, order.Node) {
		field.Options = append(field.Options, diskOption(d))
	}
	if !strings.HasPrefix(field.Value, "/") && !strings.Contains(field.Value, "/") && field.Value != "" {
		field.Value = order.Node + "/" + field.Value
	}
	d, wrong := chosenDisk(x, order, field.Value)
	if d != nil {
		order.Devices = []disk.Identity{d.Identity()}
	} else {
		f.wrong["device"] = wrong
	}
	f.fields = append(f.fields, field)
}

func groupForm(x *exchange, values url.Values) (*form, *problem) {
	const title, path = "Create Volume Group", "/volumegroups/new"
	source, failed := sourceOf(groupChoices(), values.Get("type"))
	if failed != nil || source == "" {
		return choosing(title, path, groupChoices()), failed
	}
	order := stock.Order{Group: true, Source: source, Name: typed(values, "name"), Size: typed(values, "size"), Node: typed(values, "node"), Volume: typed(values, "volume")}
	f := &form{title: title, path: path, wrong: map[string]string{}, hidden: []page.Option{{Text: "type", Value: string(source)}}, back: view.Path("volumegroups", order.Name), fieldOf: volumeField}
	f.fields = []page.Field{{Name: "name", Label: "Name", Value: order.Name, Help: "Of the object, and of the group for LVM."}}
	if order.Name == "" {
		f.wrong["name"] = "write a name"
		f.back = "/volumegroups"
	}
	f.nodeField(x, &order)
	switch source {
	case stock.Sparse:
		f.sizeField(x, &order)
	case stock.OnVolume:
		field := page.Field{Name: "volume", Label: x.Order(stock.Order{}).Kind, Value: order.Volume, Help: "A Volume of mode Block on the node."}
		for _, v := range x.Volumes() {
			field.Options = append(field.Options, page.Option{Value: v.Name, Text: fmt.Sprintf("%s on %s, %s", v.Name, v.Node, v.Size)})
		}
		if order.Volume == "" {
			f.wrong["volume"] = "choose a Volume"
		}
		f.fields = append(f.fields, field)
	default:
		field := page.Field{Name: "device", Label: "Device", Values: values["device"], Help: "Disks of one node; each holds data of nobody else."}
		for _, d := range usable(x, source, order.Node) {
			field.Checks = append(field.Checks, diskOption(d))
		}
		for _, value := range values["device"] {
			d, wrong := chosenDisk(x, &order, value)
			if d == nil {
				f.wrong["device"] = wrong
				continue
			}
			order.Devices = append(order.Devices, d.Identity())
		}
		if len(order.Devices) == 0 && f.wrong["device"] == "" {
			f.wrong["device"] = "choose a disk"
		}
		f.fields = append(f.fields, field)
	}
	f.writing = ordered(x, order)
	return f, nil
}
