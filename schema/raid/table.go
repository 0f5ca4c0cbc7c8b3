// Code generated from schema/cue/common/raid.cue by make generate. DO NOT EDIT.

package raid

func rules(raidType string) rule {
	switch raidType {
	case "stripe":
		return rule{sizes: []int{1}, several: true}
	case "mirror":
		return rule{sizes: []int{2}, several: true}
	case "raidz":
		return rule{sizes: []int{3, 5, 9, 17, 33, 65, 129, 257, 513}, several: false}
	case "raidz2":
		return rule{sizes: []int{6, 10, 18, 34, 66, 130, 258, 514}, several: false}
	}
	return rule{}
}
