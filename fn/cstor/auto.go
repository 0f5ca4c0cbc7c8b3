package cstor

import (
	"fmt"
	"strings"

	"github.com/poolwright/poolwright/schema/finding"
)

// A CSPCAuto is the old design of a cStor cluster: its pools node by node. Its definition
// says which CStorClusterConfig it means, so that all rules read that; what they find stands
// where the CSPCAuto says it.

// autoField is a field of an item of spec.cspiList.items, and the one of an entry of spec.pools
// that it means.
type autoField struct{ said, meant string }

func autoFields() []autoField {
	return []autoField{{"nodeLabel", "nodeSelector"}, {"diskCount", "minCount"}, {"diskCapacity", "minCapacity"}}
}

// inAuto is where a CSPCAuto says what a CStorClusterConfig says at a field.
func inAuto(field string) string {
	rest, listed := strings.CutPrefix(field, listedField)
	switch {
	case listed:
		entry, name, _ := strings.Cut(strings.TrimSuffix(rest, ".matchLabels"), ".")
		for _, f := range autoFields() {
			if name == f.meant {
				entry += "." + f.said
			}
		}
		return "spec.cspiList.items" + entry
	case field == "spec.poolConfig.raidType":
		return "spec.cspiList.poolType"
	case strings.Contains(field, ".externalProvisioner"):
		return "metadata.annotations"
	case strings.HasPrefix(field, "spec."):
		return "spec.cspiList"
	}
	return field
}

// tellMeaning says which CStorClusterConfig a CSPCAuto means.
func (in *input) tellMeaning() {
	if in.spec.Object.Kind != autoKind || in.failed() {
		return
	}
	general := in.cfg.general
	source := "local: {}"
	if p := general.provisioner; p != nil {
		source = fmt.Sprintf("externalProvisioner: {csiAttacherName: %s, storageClassName: %s}", p.CSIAttacherName, p.StorageClassName)
	}
	pools := make([]string, len(in.cfg.listed))
	for i, s := range in.cfg.listed {
		pools[i] = fmt.Sprintf("{nodeSelector: {matchLabels: {%s}}, minCount: %d, minCapacity: %s}", strings.ReplaceAll(strings.ReplaceAll(s.listedBy, "=", ": "), ",", ", "), s.minCount, s.capacity)
	}
	in.report(finding.Info, "old-design", "",
		"is read as the %s with spec: {diskConfig: {%s}, poolConfig: {raidType: %s}, onlyListed: true, pools: [%s]}", clusterConfigKind, source, general.raidType, finding.Names(pools))
}
