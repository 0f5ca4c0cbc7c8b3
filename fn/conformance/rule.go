package conformance

// Rules of what can be amiss with what an operator made.
const (
	Missing  = "missing"
	Extra    = "extra"
	Owner    = "owner"
	Label    = "label"
	Deleting = "deleting"
	Version  = "version"
	Differs  = "differs"
	LeftOver = "left-over"
)
