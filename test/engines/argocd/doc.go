// Package argocd applies, orders and prunes as Argo CD does, with Argo CD's own
// engine. What the Application controller adds around it, the tracking annotation
// and the deletion of an Application, is written after its source: that controller
// cannot be imported without all of Argo CD.
package argocd
