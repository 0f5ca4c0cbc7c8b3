package localvolume

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/class"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// noProvisioner is the provisioner of classes whose PersistentVolumes are made beforehand.
const noProvisioner = "kubernetes.io/no-provisioner"

// checkClass looks at the class of a Volume: the agent makes the PersistentVolume, and takes
// the filesystem from the class.
func (e *entry) checkClass() {
	const field = "spec.storageClassName"
	v := e.volume
	c := classOf(e.Facts, e.Manifests, v.class)
	if c == nil {
		if e.knowsClasses() && !e.Defaults.Knows(v.class) {
			e.Report(finding.Warning, "class-missing", field, "there is no StorageClass %s in the package, nor among the facts; no PersistentVolume is made without it", v.class)
		}
		return
	}
	if c.Provisioner != noProvisioner {
		e.Report(finding.Error, "class-provisioner", field, "StorageClass %s has provisioner %s, which makes volumes of its own; write a class with provisioner %s", v.class, c.Provisioner, noProvisioner)
		return
	}
	if v.mode != filesystem {
		return
	}
	switch fs := c.Parameters["fsType"]; fs {
	case "ext4", "xfs":
		if why := refuseOptions(fs, c.Parameters["mkfsOptions"]); why != "" {
			e.Report(finding.Error, "mkfs-options", field, "StorageClass %s: parameters.mkfsOptions %s", v.class, why)
		}
	case "":
		e.Report(finding.Error, "class-filesystem", field, "StorageClass %s has no parameters.fsType, and the Volume is of mode %s; write a class with fsType: ext4 or xfs, or mode: %s", v.class, filesystem, block)
	default:
		e.Report(finding.Error, "class-filesystem", field, "StorageClass %s has parameters.fsType %q; the node agent makes ext4 and xfs", v.class, fs)
	}
}

// knowsClasses reports whether anything tells which classes there are.
func (e *entry) knowsClasses() bool {
	return e.Facts.Tells(class.Kind().Group, class.Kind().Kind, "") ||
		slices.ContainsFunc(e.Manifests, func(o *krm.Object) bool { return o.GroupKind() == class.Kind() })
}

// mkfs are the options of a mkfs that take a value, and those that would make another
// filesystem than the agent knows again: its UUID and label are the agent's, nothing is
// forced, and the whole device is used. From mke2fs(8) and mkfs.xfs(8).
type mkfs struct {
	values  string            // letters of the options that take a value
	refused map[string]string // by letter, why
	keys    map[string]string // by letter and key of a value key=..., why
}

const (
	whyUUID  = "sets the UUID, by which the agent knows the filesystem again"
	whyLabel = "sets the label, by which others may mount the filesystem"
	whyForce = "forces, also over the data of others"
	whyDry   = "makes no filesystem"
	whySize  = "makes the filesystem of another size than the device"
	whyOther = "takes another device or file"
)

func mkfsOf(fs string) mkfs {
	if fs == "xfs" {
		return mkfs{
			values:  "bcdilLmnprs",
			refused: map[string]string{"L": whyLabel, "f": whyForce, "N": whyDry, "p": whyOther, "r": whyOther, "c": whyOther, "U": whyUUID, "F": whyForce},
			keys:    map[string]string{"m uuid": whyUUID, "d size": whySize, "d file": whyOther, "d name": whyOther, "l logdev": whyOther, "l name": whyOther, "l file": whyOther},
		}
	}
	return mkfs{
		values: "bCdeEgGiIJlLmMNoOrtTUzf",
		refused: map[string]string{
			"U": whyUUID, "L": whyLabel, "F": whyForce, "f": whyForce, "n": whyDry, "S": whyDry, "d": whyOther, "l": whyOther, "M": whyLabel, "z": whyOther,
		},
		keys: map[string]string{"E offset": whySize, "J device": whyOther, "m uuid": whyUUID},
	}
}

// refuseOptions says what is wrong with the mkfsOptions of a class, or "".
func refuseOptions(fs, text string) string {
	if text == "" {
		return ""
	}
	var list []string
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return fmt.Sprintf("is no JSON list of text: write it as '[\"-m\", \"0\"]', not %q", text)
	}
	known := mkfsOf(fs)
	var words []string
	for _, item := range list {
		words = append(words, strings.Fields(item)...)
	}
	for i := 0; i < len(words); i++ {
		word := words[i]
		if strings.Contains(word, "/") {
			return fmt.Sprintf("has %s: the agent says which device; remove it", word)
		}
		letters, isOption := strings.CutPrefix(word, "-")
		if !isOption || letters == "" {
			return fmt.Sprintf("has %s, which is no option: it would be taken for a device or a size; remove it", word)
		}
		for at := 0; at < len(letters); at++ {
			letter := letters[at : at+1]
			if why := known.refused[letter]; why != "" {
				return fmt.Sprintf("has -%s, which %s; remove it", letter, why)
			}
			if !strings.Contains(known.values, letter) {
				continue
			}
			value := letters[at+1:]
			if value == "" && i+1 < len(words) {
				i++
				value = words[i]
			}
			if why := known.refuseValue(letter, value); why != "" {
				return why
			}
			break
		}
	}
	return ""
}

// refuseValue says what is wrong with the value of an option, or "".
func (m mkfs) refuseValue(letter, value string) string {
	if strings.Contains(value, "/") {
		return fmt.Sprintf("has -%s %s: the agent says which device; remove it", letter, value)
	}
	for setting := range strings.SplitSeq(value, ",") {
		key, _, _ := strings.Cut(setting, "=")
		if why := m.keys[letter+" "+key]; why != "" {
			return fmt.Sprintf("has -%s %s=, which %s; remove it", letter, key, why)
		}
	}
	return ""
}
