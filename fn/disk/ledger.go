package disk

import "github.com/poolwright/poolwright/fn/inventory"

// Disk is one physical disk.
type Disk struct {
	Identity
	Devices []*inventory.BlockDevice // the reports of the node disk manager
}

// Ledger is the account of all disks.
type Ledger struct {
	facts *inventory.Facts
}

// NewLedger opens the account with the disks that the facts report.
func NewLedger(facts *inventory.Facts) *Ledger { return &Ledger{facts: facts} }
