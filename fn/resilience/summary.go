package resilience

import (
	"fmt"
	"maps"
	"slices"

	"github.com/poolwright/poolwright/schema/finding"
)

// Summary counts volumes or pools by state.
type Summary struct {
	Total    int `json:"total"`
	Lost     int `json:"lost"`
	Stops    int `json:"stops"`
	Degraded int `json:"degraded"`
	Unknown  int `json:"unknown"`
	Safe     int `json:"safe"`
}

// add counts n more of a state.
func (s *Summary) add(state State, n int) {
	s.Total += n
	switch state {
	case Lost:
		s.Lost += n
	case Stops:
		s.Stops += n
	case Degraded:
		s.Degraded += n
	case Unknown:
		s.Unknown += n
	case Safe:
		s.Safe += n
	}
}

// Text is the summary in one line: 41 volumes: 0 lost, 3 stop, 12 degraded, 2 unknown, 24 safe.
func (s Summary) Text(noun string) string {
	return fmt.Sprintf("%s: %d lost, %d stop, %d degraded, %d unknown, %d safe", finding.Count(s.Total, noun), s.Lost, s.Stops, s.Degraded, s.Unknown, s.Safe)
}

// Worst is the worst state of any, in the order of a summary.
func (s Summary) Worst() State {
	switch {
	case s.Lost > 0:
		return Lost
	case s.Stops > 0:
		return Stops
	case s.Degraded > 0:
		return Degraded
	case s.Unknown > 0:
		return Unknown
	}
	return Safe
}

// compare orders summaries, the worst first.
func (s Summary) compare(other Summary) int {
	for _, pair := range [][2]int{{s.Lost, other.Lost}, {s.Stops, other.Stops}, {s.Degraded, other.Degraded}, {s.Unknown, other.Unknown}} {
		if pair[0] != pair[1] {
			return pair[1] - pair[0]
		}
	}
	return 0
}

// Summarize counts some items in a situation.
func (s *Situation) Summarize(items []Item) Summary {
	var sum Summary
	for i := range items {
		sum.add(s.Of(items[i].Rule).State, 1)
	}
	return sum
}

// summaryOn is the summary of all volumes, made of that of the situation below.
func (s *Situation) summaryOn(below Summary) Summary {
	for _, r := range s.hit {
		if n := s.ledger.volumes[r.id]; n > 0 {
			below.add(s.base.Of(r).State, -n)
			below.add(s.Of(r).State, n)
		}
	}
	return below
}

// counted lists drivers, each with the number of its volumes.
func counted(drivers map[string]int) []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(drivers)) {
		lines = append(lines, name+": "+finding.Count(drivers[name], "PersistentVolume"))
	}
	return lines
}
