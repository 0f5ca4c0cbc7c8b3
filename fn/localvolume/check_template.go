package localvolume

import "github.com/poolwright/poolwright/schema/finding"

// checkMetadata reports metadata that no PersistentVolume gets: MetalK8s takes any, and so a Volume may have it.
func (e *entry) checkMetadata() {
	for _, f := range e.volume.template.Get("metadata").Fields() {
		if f.Key != "labels" && f.Key != "annotations" {
			e.Report(finding.Warning, "template-metadata", "spec.template.metadata."+f.Key, "is ignored: the PersistentVolume gets labels and annotations from here, and the rest from the agent; remove it")
		}
	}
}
