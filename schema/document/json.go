package document

import "strconv"

// AppendJSON writes a tree as JSON without blanks, keys in the order of the
// tree. A plain scalar is a number or a boolean where Int, Float or Bool say
// so, and text otherwise.
func AppendJSON(dst []byte, n *Node) []byte {
	if n == nil {
		return append(dst, "null"...)
	}
	switch n.Kind() {
	case Map:
		dst = append(dst, '{')
		for i := range n.Fields() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendQuoted(dst, n.Fields()[i].Key), ':')
			dst = AppendJSON(dst, &n.Fields()[i].Value)
		}
		return append(dst, '}')
	case Seq:
		dst = append(dst, '[')
		for i := range n.Items() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendJSON(dst, &n.Items()[i])
		}
		return append(dst, ']')
	case Scalar:
		if n.Quoted {
			return appendQuoted(dst, n.Value())
		}
		if b, ok := n.Bool(); ok {
			return strconv.AppendBool(dst, b)
		}
		if i, ok := n.Int(); ok {
			return strconv.AppendInt(dst, i, 10)
		}
		if f, ok := n.Float(); ok {
			if isJSONFloat(n.Value()) {
				return append(dst, n.Value()...)
			}
			return strconv.AppendFloat(dst, f, 'g', -1, 64)
		}
		return appendQuoted(dst, n.Value())
	}
	return append(dst, "null"...)
}

// isJSONFloat reports whether what isFloat holds for is a number of JSON too:
// no plus in front, and digits on both sides of the point.
func isJSONFloat(s string) bool {
	if s[0] == '-' {
		s = s[1:]
	}
	for i := 1; i+1 < len(s); i++ {
		if s[i] == '.' {
			return isDigits(s[:i]) && isDigits(s[i+1:i+2])
		}
	}
	return false
}
