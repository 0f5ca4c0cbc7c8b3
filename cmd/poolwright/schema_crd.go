package main

import (
	"fmt"

	"github.com/poolwright/poolwright/fn/gitops"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// protectedCRD is a CustomResourceDefinition as it is to be applied: who deletes
// it deletes every object of the kind, so no engine may do that by itself.
func protectedCRD(kind string, exported []byte) ([]byte, error) {
	objects, err := krm.Parse(&document.Source{Name: kind, Data: exported})
	if err != nil {
		return nil, err
	}
	crd := objects[0]
	gitops.Policy{Engine: "all", Protection: "confirm"}.Annotate(gitops.Object{Object: crd, Stateful: true})
	head := fmt.Sprintf("# Made by: poolwright schema %s -o crd\n", kind)
	return document.Append([]byte(head), crd.Node, 0), nil
}
