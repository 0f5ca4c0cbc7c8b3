package cstor_test

import (
	"sync"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/systems"
	"github.com/poolwright/poolwright/schema"
)

// poolwright is the function of all systems.
var poolwright = sync.OnceValue(func() *fn.Function { return fn.New(schema.Load(), systems.All()...) })
