// Package mkfs says which options a StorageClass may hand to the program that makes a filesystem: for
// who checks a package and for the node agent.
package mkfs

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// program has the options of a mkfs that take a value, and those that would make another
// filesystem than the agent knows again: its UUID and label are the agent's, nothing is
// forced, and the whole device is used. From mke2fs(8) and mkfs.xfs(8).
type program struct {
	values  string            // letters of the options that take a value
	refused map[string]string // by letter, why
	keys    map[string]string // by letter and key of a value key=..., why
}

const (
	whyUUID  = "sets the UUID, by which the agent knows the filesystem again"
	whyLabel = "sets the label, by which others may mount the filesystem"
	whyForce = "forces, also over unmanaged data"
	whyDry   = "makes no filesystem"
	whySize  = "makes the filesystem of another size than the device"
	whyOther = "takes another device or file"
)

func programOf(fs string) program {
	if fs == "xfs" {
		return program{
			values:  "bcdilLmnprs",
			refused: map[string]string{"L": whyLabel, "f": whyForce, "N": whyDry, "p": whyOther, "r": whyOther, "c": whyOther, "U": whyUUID, "F": whyForce, "V": whyDry},
			keys:    map[string]string{"m uuid": whyUUID, "d size": whySize, "d file": whyOther, "d name": whyOther, "l logdev": whyOther, "l name": whyOther, "l file": whyOther},
		}
	}
	return program{
		values: "bCdeEgGiIJlLmMNoOrRstTUz", // R is the old name of E
		refused: map[string]string{
			"U": whyUUID, "L": whyLabel, "F": whyForce, "f": whyForce, "n": whyDry, "S": whyDry, "d": whyOther, "l": whyOther, "M": whyLabel, "z": whyOther, "V": whyDry,
		},
		keys: map[string]string{"E offset": whySize, "R offset": whySize, "J device": whyOther, "m uuid": whyUUID, "O journal_dev": whyDry},
	}
}

// Options reads the mkfsOptions of a StorageClass, a JSON list of text or nothing, for a filesystem, ext4 or
// xfs. The error, of one that may not be handed to its mkfs, goes on after the name of the parameter.
func Options(fs, text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	var options []string
	if err := json.Unmarshal([]byte(text), &options); err != nil || options == nil {
		return nil, fmt.Errorf("is no JSON list of text: write it as '[\"-m\", \"0\"]', not %q", text)
	}
	if why := programOf(fs).refuse(options); why != "" {
		return nil, errors.New(why)
	}
	return options, nil
}

// refuse says what is wrong with options, or "".
func (p program) refuse(options []string) string {
	var words []string
	for _, item := range options {
		of := strings.Fields(item)
		if len(of) == 0 {
			return "has an empty text, which would be taken for a device; remove it"
		}
		words = append(words, of...)
	}
	for i := 0; i < len(words); i++ {
		word := words[i]
		if strings.Contains(word, "/") {
			return fmt.Sprintf("has %s: the agent says which device; remove it", word)
		}
		letters, isOption := strings.CutPrefix(word, "-")
		switch {
		case !isOption || letters == "":
			return fmt.Sprintf("has %s, which is no option: it would be taken for a device or a size; remove it", word)
		case letters[0] == '-':
			return fmt.Sprintf("has %s, and mkfs has options of one letter; remove it", word)
		}
		for at := 0; at < len(letters); at++ {
			letter := letters[at : at+1]
			if why := p.refused[letter]; why != "" {
				return fmt.Sprintf("has -%s, which %s; remove it", letter, why)
			}
			if !strings.Contains(p.values, letter) {
				continue
			}
			value := letters[at+1:]
			if value == "" && i+1 < len(words) {
				i++
				value = words[i]
			}
			if value == "" || value[0] == '-' && strings.Trim(value[1:], "0123456789") != "" { // -b takes -4096
				return fmt.Sprintf("has -%s without a value; write one behind it, or remove it", letter)
			}
			if why := p.refuseValue(letter, value); why != "" {
				return why
			}
			break
		}
	}
	return ""
}

// refuseValue says what is wrong with the value of an option, or "".
func (p program) refuseValue(letter, value string) string {
	if strings.Contains(value, "/") {
		return fmt.Sprintf("has -%s %s: the agent says which device; remove it", letter, value)
	}
	for setting := range strings.SplitSeq(value, ",") {
		key, _, _ := strings.Cut(setting, "=")
		if why := p.keys[letter+" "+key]; why != "" {
			if _, _, assigns := strings.Cut(setting, "="); assigns {
				key += "="
			}
			return fmt.Sprintf("has -%s %s, which %s; remove it", letter, key, why)
		}
	}
	return ""
}
