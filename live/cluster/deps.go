package cluster

import (
	_ "k8s.io/client-go/dynamic/dynamicinformer"
	_ "k8s.io/client-go/util/retry"
)
