package storcli

import (
	"fmt"
	"strings"
)

func (r *run) overview() object {
	key := "Ctl"
	if r.second {
		key = "Ctrl"
	}
	var rows []object
	for _, c := range r.state.Controllers {
		rows = append(rows, object{key: c.Index, "Model": "StandIn", "PDs": len(c.Drives), "VDs": len(c.Virtual)})
	}
	return object{"Number of Controllers": len(rows), "System Overview": rows}
}

func (r *run) controller(c *Controller) object {
	data := object{
		"Basics":          object{"Controller": c.Index, "Model": "StandIn", "Serial Number": fmt.Sprintf("SV%06d", c.Index)},
		"Physical Drives": len(c.Drives), "Virtual Drives": len(c.Virtual),
	}
	var drives, virtual []object
	for _, d := range c.Drives {
		drives = append(drives, r.driveRow(c, d))
	}
	for _, v := range c.Virtual {
		virtual = append(virtual, r.virtualRow(v))
	}
	if len(drives) > 0 {
		data["PD LIST"] = drives
	}
	if len(virtual) > 0 { // the section is not there at all where there are none
		data["VD LIST"] = virtual
	}
	if c.Battery {
		data["Cachevault_Info"] = []object{{"Model": "CV", "State": "Optimal"}}
	}
	return data
}

func (r *run) driveRow(c *Controller, d *Drive) object {
	row := object{"EID:Slt": d.place(), "State": d.State, "DG": "-", "Size": "300 MB", "Med": "HDD", "Intf": "SAS", "Model": "STANDIN         "}
	for i, v := range c.Virtual {
		if v.Drive == d.place() {
			row["DG"] = i
		}
	}
	if d.Foreign {
		row["DG"] = "F"
	}
	if r.second {
		words := map[string][2]string{"UGood": {"UConf", "Good"}, "Onln": {"Conf", "Online"}, "JBOD": {"JBOD", "Online"}, "UBad": {"UConf", "Bad"}}[d.State]
		row["State"], row["Status"], row["PID"] = words[0], words[1], 280+d.Slot
	} else {
		row["DID"] = d.Slot
	}
	return row
}

func (r *run) drives(c *Controller) object {
	data := object{}
	var list []object
	for _, d := range c.Drives {
		if r.second {
			list = append(list, object{
				"Drive Information":          r.driveRow(c, d),
				"Drive Detailed Information": object{"Serial Number": d.Serial, "WWN": d.WWN},
			})
			continue
		}
		key := fmt.Sprintf("Drive /c%d/e%d/s%d", c.Index, d.Enclosure, d.Slot)
		data[key] = []object{r.driveRow(c, d)}
		data[key+" - Detailed Information"] = object{
			key + " State":             object{"Media Error Count": 0},
			key + " Device attributes": object{"SN": "  " + d.Serial, "WWN": d.WWN},
		}
	}
	if r.second {
		data["Drives List"] = list
	}
	return data
}

func (r *run) virtualRow(v *Virtual) object {
	row := object{"DG/VD": fmt.Sprintf("%d/%d", v.ID, v.ID), "TYPE": "RAID0", "State": "Optl", "Access": "RW", "Name": v.Name, "Size": "300 MB"}
	read := map[string]string{"ra": "R", "nora": "NR"}[v.Read]
	if r.second {
		row["CurrentCache"] = read + "," + strings.ToUpper(v.Write)
		row["DefaultCache"] = row["CurrentCache"]
	} else {
		row["Cache"] = read + strings.ToUpper(v.Write) + map[string]string{"direct": "D", "cached": "C"}[v.IO]
	}
	return row
}

func (r *run) virtuals(c *Controller) object {
	data := object{}
	var list []object
	for _, v := range c.Virtual {
		properties := object{"SCSI NAA Id": v.NAA, "Exposed to OS": "Yes"}
		drives := []object{r.driveRow(c, c.drive(v.Drive))}
		if r.second {
			list = append(list, object{"VD Info": r.virtualRow(v), "PDs": drives, "VD Properties": properties})
			continue
		}
		data[fmt.Sprintf("/c%d/v%d", c.Index, v.ID)] = []object{r.virtualRow(v)}
		data[fmt.Sprintf("PDs for VD %d", v.ID)] = drives
		data[fmt.Sprintf("VD%d Properties", v.ID)] = properties
	}
	if r.second {
		data["Virtual Drives"] = list
	}
	return data
}
