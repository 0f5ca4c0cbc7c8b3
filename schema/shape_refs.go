package schema

import (
	"path"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
)

// references lists the definitions that a value names: by itself, or as a part
// of a conjunction or a disjunction.
func (r shapeReader) references(v cue.Value, depth int) []cue.Value {
	if depth > 4 {
		return nil
	}
	if f, ok := v.Source().(*ast.Field); ok {
		return r.named(f.Value, path.Dir(f.Pos().Filename()), depth)
	}
	if root, path := v.ReferencePath(); len(path.Selectors()) > 0 {
		ref := root.LookupPath(path)
		return append([]cue.Value{ref}, r.references(ref, depth+1)...)
	}
	var refs []cue.Value
	if op, args := v.Expr(); op == cue.AndOp || op == cue.OrOp {
		for _, a := range args {
			refs = append(refs, r.references(a, depth+1)...)
		}
	}
	return refs
}

// named lists the definitions that an expression of a package names.
func (r shapeReader) named(x ast.Node, folder string, depth int) []cue.Value {
	var name definitionName
	switch x := x.(type) {
	case *ast.BinaryExpr:
		return append(r.named(x.X, folder, depth), r.named(x.Y, folder, depth)...)
	case *ast.UnaryExpr:
		return r.named(x.X, folder, depth)
	case *ast.ParenExpr:
		return r.named(x.X, folder, depth)
	case *ast.StructLit:
		var refs []cue.Value
		for _, d := range x.Elts {
			if e, ok := d.(*ast.EmbedDecl); ok {
				refs = append(refs, r.named(e.Expr, folder, depth)...)
			}
		}
		return refs
	case *ast.Ident:
		name = definitionName{folder, x.Name}
	case *ast.SelectorExpr:
		name = imported(x)
	}
	if !strings.HasPrefix(name.name, "#") {
		return nil
	}
	ref := r.definition(name)
	return append([]cue.Value{ref}, r.references(ref, depth+1)...)
}

// isChoice reports whether a value is a disjunction.
func isChoice(v cue.Value) bool {
	if f, ok := v.Source().(*ast.Field); ok {
		both, ok := f.Value.(*ast.BinaryExpr)
		return ok && both.Op == token.OR
	}
	op, _ := v.Expr()
	return op == cue.OrOp
}
