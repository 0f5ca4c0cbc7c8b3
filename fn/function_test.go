package fn

import (
	"sync"

	"github.com/poolwright/poolwright/fn/systems"
	"github.com/poolwright/poolwright/schema"
)

// poolwright is the function of all systems.
var poolwright = sync.OnceValue(func() *Function { return New(schema.Load(), systems.All()...) })
