// Package systems lists every storage system that Poolwright serves.
package systems

import (
	"github.com/poolwright/poolwright/fn/cstor"
	"github.com/poolwright/poolwright/fn/cstorvolume"
	"github.com/poolwright/poolwright/fn/diskpool"
	"github.com/poolwright/poolwright/fn/hypercloud"
	"github.com/poolwright/poolwright/fn/localvolume"
	"github.com/poolwright/poolwright/fn/system"
)

// All lists them, what they share first: a new one is a folder of its own and a line
// here.
func All() []system.System {
	return []system.System{
		system.Shared{},
		cstor.System{},
		cstorvolume.System{},
		diskpool.System{},
		localvolume.System{},
		hypercloud.System{},
	}
}
