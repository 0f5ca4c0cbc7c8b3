// Package monitoring evaluates the alerts and the dashboard of deploy/controller/monitoring by Prometheus' own
// parser and engine. What the controller exports is in testdata/metrics.txt, which a test of controller/keeper
// keeps. Package rules of Prometheus, which reads files of rules, brings 350 packages more, of all clouds; the
// little of it that is needed is here: for how long an expression has to have a result.
package monitoring
