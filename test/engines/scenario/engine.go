package scenario

import (
	"context"
	"testing"

	"github.com/poolwright/poolwright/test/controlplane"
)

// Engine applies what Git holds, with pruning on.
type Engine interface {
	// Sync makes the cluster what the folder dir says, as the engine does when a
	// commit changes the folder it looks at. It returns when the engine is done, or
	// waits for a person.
	Sync(ctx context.Context, dir string) (Report, error)
	// Delete removes the engine's own object: the Application, the Kustomization, or
	// the inventory of a package. It returns as Sync does.
	Delete(ctx context.Context) (Report, error)
}

// Report is what an engine says that it did.
type Report struct {
	Deleted []string // Kind/name
	Kept    []string // Kind/name of what is no longer in Git, or would go with the engine's object, and was left
	Waiting string   // for what a person has to confirm
}

// Approver is an engine that asks a person before it prunes.
type Approver interface {
	Approve(bool)
}

// Judge is an engine that goes on to the next objects when those before them are
// healthy, as it sees it, but whose Sync does not wait for the last of them.
type Judge interface {
	// Unhealthy lists what is not, with the reason.
	Unhealthy() ([]string, error)
}

// Suite says how the engine under test behaves where engines differ.
type Suite struct {
	Root       string // of the repository
	Plane      *controlplane.ControlPlane
	Poolwright string // the program
	Name       string // distinguishes this engine from another one in the same cluster
	New        func(t *testing.T, name string) Engine
	// KindOrder is for an engine that takes the objects of one commit by kind: pool
	// clusters before attachments. There the three commits alone make the order.
	KindOrder bool
	// Brief leaves out what is the same again, and what needs the definitions to come and go: for
	// make test, and for a slow engine whose code goes through everything elsewhere.
	Brief bool
	// HeedsHealth is for an engine that goes on only when what it applied before is healthy
	// by the checks that we ship.
	HeedsHealth bool
	// WaitsForReady is for an engine that waits for every object with a condition Ready,
	// and cannot know that nothing waits for our records: there nobody may write
	// their statuses.
	WaitsForReady bool
	// AllOrNothing is for an engine that applies nothing where one object is refused.
	AllOrNothing bool
	// KeepsDefinitions is for an engine that deletes no definition with its own object.
	KeepsDefinitions bool
}
