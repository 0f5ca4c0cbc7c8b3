package admission

// What each client of the webhook may ask: five requests a second after a burst of ten,
// the defaults of client-go.
//
// Source: cstor-operators, admission webhook (client-go with its default limits), 3.6.0, measured.
const (
	burst = 10
	rate  = 5 // requests a second
)

// bucket is the budget of one client, by the token bucket of client-go. Time is counted in
// slots, in each of which one request comes back: nothing else takes time.
type bucket struct{ tokens, at int }

// ask makes requests one after the other from a slot on, and returns the slot of the last.
func (b *bucket) ask(now, requests int) int {
	b.tokens, b.at = min(burst, b.tokens+now-b.at), now
	if wait := requests - b.tokens; wait > 0 {
		b.tokens, b.at = 0, now+wait
		return b.at
	}
	b.tokens -= requests
	return now
}

// Seconds is how long the webhook takes for an edit, least and most, if each of its clients
// may ask for so much at once when it begins: ten where it has rested for two seconds.
func (c Cost) Seconds(refill int) (least, most float64) {
	return float64(c.slots(refill, 0)) / rate, float64(c.slots(refill, c.Chance)) / rate
}

func (c Cost) slots(refill, chance int) int {
	disks, nodes := bucket{tokens: refill}, bucket{tokens: refill}
	now := disks.ask(0, c.Read)
	for _, requests := range c.Pools {
		now = nodes.ask(now, 1)
		now = disks.ask(now, requests)
	}
	now = disks.ask(now, c.Removed)
	now = nodes.ask(now, c.Compared)
	return disks.ask(now, c.Changed+chance)
}
