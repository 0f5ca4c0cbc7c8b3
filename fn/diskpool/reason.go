package diskpool

import (
	"strings"

	"github.com/poolwright/poolwright/fn/place"
)

// Why a pool is where it is, as its annotation poolwright.io/chosen remembers it: a comma
// list of a word for its node, where that was new, and one for its disk.
const (
	chosenOldest   = "oldest"   // the oldest node that could carry a pool
	chosenZone     = "zone"     // the oldest such node of the zone with the fewest
	chosenFit      = "fit"      // the smallest eligible disk
	chosenReplaced = "replaced" // it took the place of another pool
)

// ofNode and ofDisk say what the words of a pool mean, "" where it has none that is known.
func (p *pool) ofNode() string {
	return p.said(map[string]string{
		chosenOldest: "it was chosen as the oldest node that could carry a pool",
		chosenZone:   "it was chosen as the oldest node of the zone with the fewest pools",
	})
}

func (p *pool) ofDisk() string {
	return p.said(map[string]string{
		chosenFit:      "it was chosen as the smallest eligible disk that was left",
		chosenReplaced: "it took the place of the disk of another pool",
	})
}

func (p *pool) said(means map[string]string) string {
	for word := range strings.SplitSeq(p.chosen, ",") {
		if text := means[strings.TrimSpace(word)]; text != "" {
			return text
		}
	}
	return ""
}

// words joins those of a node and a disk.
func words(node, disk string) string { return strings.Trim(node+","+disk, ",") }

// wordOf is why a node was picked.
func wordOf(picked place.Picked) string {
	if picked.Spread {
		return chosenZone
	}
	return chosenOldest
}
