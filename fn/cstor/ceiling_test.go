package cstor

import (
	"fmt"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/standing"
	"github.com/poolwright/poolwright/test/expected"
)

// A cluster that no edit can change any more is named, also while nothing of it changes.
func TestWarnOfEdits(t *testing.T) {
	for _, c := range []struct {
		pools, seconds int
		want           expected.Text
	}{
		{5, 5, ""},
		{13, 30, ""},
		{14, 30, "CStorPoolCluster prod cannot be edited: the cStor webhook needs 31.2 seconds for it (57 requests for disks, 133 node lists), whatever changes, and is given 30 seconds; timeoutSeconds: 30, the longest, is too short as well: remove pools, and create them again in another CStorClusterConfig"},
	} {
		facts := fmt.Sprintf("{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: w}, webhooks: [{name: admission-webhook.cstor.openebs.io, timeoutSeconds: %d}]}\n---\n", c.seconds)
		var pools []string
		for i := range c.pools {
			facts += fmt.Sprintf("{apiVersion: v1, kind: Node, metadata: {name: m%d, labels: {kubernetes.io/hostname: m%d}}}\n---\n", i, i)
			pools = append(pools, fmt.Sprintf("m%d mirror d%d-0,d%d-1", i, i, i))
		}
		wanted := writtenCluster(strings.Join(pools, "; "))
		in := newTestInput(t, facts+wanted)
		of := in.standing.Clusters()[0]
		in.works = map[*standing.Cluster]*work{of: {steps: &steps{input: in, of: of}}}
		admit(in, of, pool.DecodeCluster(parse(t, wanted)[0]))
		got := ""
		for _, f := range in.Findings {
			if f.Rule == "cluster-not-editable" {
				got = f.Message
			}
		}
		if !c.want.In(t, got) || (c.want == "") != (got == "") {
			t.Errorf("%d pools at %d s: %q", c.pools, c.seconds, got)
		}
	}
}
