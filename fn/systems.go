package fn

import (
	"github.com/poolwright/poolwright/fn/cstor"
	"github.com/poolwright/poolwright/fn/system"
)

// systems lists every storage system: a new one is one more folder and one more
// line here.
func systems() []system.System {
	return []system.System{
		cstor.System{},
	}
}
