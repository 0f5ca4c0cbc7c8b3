package document

// slab hands out copies of exactly the size that is needed, cut from larger
// slices: a tree of a million fields costs some thousand allocations.
type slab[T any] struct {
	free []T
	size int // of the last slice made
}

const (
	minSlab = 8
	maxSlab = 512
)

func (s *slab[T]) take(from []T) []T {
	n := len(from)
	switch {
	case n == 0:
		return nil
	case n > maxSlab/4:
		return append(make([]T, 0, n), from...)
	case n > len(s.free):
		s.size = max(min(2*s.size, maxSlab), minSlab, n)
		s.free = make([]T, s.size)
	}
	out := s.free[:n:n]
	s.free = s.free[n:]
	copy(out, from)
	return out
}
