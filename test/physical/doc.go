// Package physical is an oracle for the rule that one disk has one owner. It makes clusters of
// physical disks with all of their names, reports each disk in random parts through random kinds, and knows
// the disk behind every name by itself: it shares no code with the ledger that it judges.
//
// A World is what there is. A Package is what Poolwright sees of it: a snapshot, specs, manifests of people,
// and what was rendered before. Check renders a Package and holds the rules.
package physical
