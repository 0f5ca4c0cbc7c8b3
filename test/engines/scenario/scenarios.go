package scenario

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// commits applies the three commits of the example in one set with the
// definitions of their kinds, and its config beside them. Each is healthy without the
// next, whether somebody writes the statuses of our kinds or not. Then the storage
// goes from Git, and the rest.
func commits(t *testing.T, s Suite, c *Cluster, d definitions) {
	r := start(t, s, c, "commits", "confirm")
	r.specs = true
	r.platform(true, d)
	order := r.watchOrder()
	for stage, want := range []struct{ claims, attachments, pools int }{{6, 0, 0}, {6, 6, 0}, {6, 6, 1}} {
		r.render(stage)
		if stage == 2 {
			r.machines(stage, "blockdevices")
		}
		r.sync("commit " + string('1'+rune(stage)))
		objects, _ := r.applied(stages[stage])
		got := struct{ claims, attachments, pools int }{
			len(of(objects, "PersistentVolumeClaim")), len(of(objects, "VolumeAttachment")), len(of(objects, "CStorPoolCluster")),
		}
		if got != want {
			t.Fatalf("commit %d: %+v instead of %+v", stage+1, got, want)
		}
		t.Logf("commit %d: %s", stage+1, kindsOf(objects))
		if s.WaitsForReady {
			continue
		}
		if stage == 0 {
			r.healthy("nobody writes statuses")
			r.machines(stage, "nodes")
			r.writeStatuses()
		}
		r.underWay()
		r.sync("the same commit, with statuses")
		r.healthy("with statuses")
	}
	order.created("PersistentVolumeClaim", "VolumeAttachment", "CStorPoolCluster")

	objects, before := r.applied("all")
	objects = of(objects, storage...)
	r.remove("storage")
	r.list("platform.yaml")
	r.sync("the storage is deleted from Git")
	r.survives("the storage is deleted from Git", objects, before.only(objects))
	r.withoutAll()
	r.sync("everything is deleted from Git")
	r.survives("everything is deleted from Git", objects, before.only(objects))
}

// protected applies the whole at once, as on a new cluster, and deletes it from
// Git in each way.
func protected(t *testing.T, s Suite, c *Cluster, protection string) {
	r := start(t, s, c, protection, protection)
	r.platform(true, definitions{})
	r.render(2)
	order := r.watchOrder()
	r.sync("all in one commit")
	objects, before := r.applied("all in one commit")
	switch _, judges := r.engine.(Judge); {
	case s.KindOrder:
		order.created("PersistentVolumeClaim", "CStorPoolCluster")
	case judges:
		order.waited("PersistentVolumeClaim", "VolumeAttachment", "CStorPoolCluster")
	default:
		order.created("PersistentVolumeClaim", "VolumeAttachment", "CStorPoolCluster")
	}
	objects = of(objects, storage...)
	before = before.only(objects)

	restore := r.save()
	r.withoutPools()
	what := "the file of the pool cluster is deleted from Git"
	report := r.sync(what)
	r.survives(what, objects, before)
	approver, asks := r.engine.(Approver)
	if waits := asks && protection == "confirm"; waits != strings.Contains(report.Waiting, "CStorPoolCluster") {
		t.Errorf("%s: with protection %s the engine waits for %q", what, protection, report.Waiting)
	}
	restore()
	r.sync("it is back")
	r.survives("it is back", objects, before)

	r.withoutStorage()
	what = "all that was rendered is deleted from Git"
	r.sync(what)
	r.survives(what, objects, before)
	restore()
	r.sync("it is back")
	r.survives("it is back", objects, before)

	what = "the engine's own object is deleted"
	began := time.Now()
	report, err := r.engine.Delete(t.Context())
	r.check(err)
	r.log(what, report, began)
	r.survives(what, objects, before)

	if asks && protection == "confirm" {
		approver.Approve(true)
		report, err = r.engine.Delete(t.Context())
		r.check(err)
		r.log("a person confirms", report, began)
		r.gone("a person confirms", of(objects, data...))
		r.survives("a person confirms", of(objects, "Namespace"), before.only(of(objects, "Namespace")))
	}
}

// unprotected is the proof that the other scenarios could fail: the same without
// protection, and everything goes.
func unprotected(t *testing.T, s Suite, c *Cluster) {
	r := start(t, s, c, "off", "off")
	r.platform(false, definitions{})
	r.render(2)
	r.sync("all in one commit")
	objects, _ := r.applied("all in one commit")

	restore := r.save()
	r.withoutPools()
	r.sync("the file of the pool cluster is deleted from Git")
	r.gone("the file of the pool cluster is deleted from Git", of(objects, "CStorPoolCluster"))
	r.absent(of(objects, "CStorPoolCluster"))
	restore()
	r.sync("it is back")
	r.applied("it is back")
	order := r.watchOrder()
	r.withoutStorage()
	r.sync("all that was rendered is deleted from Git")
	r.gone("all that was rendered is deleted from Git", of(objects, data...))
	r.absent(of(objects, data...))
	if s.KindOrder {
		order.deleted(objects, "VolumeAttachment", "CStorPoolCluster", "PersistentVolumeClaim")
	} else {
		order.deleted(objects, "CStorPoolCluster", "VolumeAttachment", "PersistentVolumeClaim")
	}
	restore()
	r.sync("it is back")
	r.applied("it is back")
	what := "the engine's own object is deleted"
	began := time.Now()
	report, err := r.engine.Delete(t.Context())
	r.check(err)
	r.log(what, report, began)
	r.gone(what, of(objects, data...))
}

// bare is the same for the definitions and the Namespace. They take their time, so
// it is enough that their deletion has begun.
func bare(t *testing.T, s Suite, c *Cluster, d definitions) {
	r := start(t, s, c, "bare", "off")
	r.platform(false, d)
	r.render(2)
	for _, o := range of(r.objects(), "CustomResourceDefinition") {
		r.check(c.Apply(t.Context(), o)) // without the annotations that protect it
	}
	r.sync("all in one commit, with the definitions")
	objects, _ := r.applied("all in one commit, with the definitions")
	if s.KeepsDefinitions {
		r.withoutAll()
		// A definition takes its objects along: the engine then cannot delete them,
		// fails, and tries again.
		r.await("everything is deleted from Git", func() bool {
			report, err := r.engine.Sync(t.Context(), r.Dir)
			if err != nil {
				t.Log(err)
			}
			return err == nil && report.Waiting == "" && len(r.state(of(objects, storage...))) == 0
		})
	} else {
		began := time.Now()
		report, err := r.engine.Delete(t.Context())
		r.check(err)
		r.log("the engine's own object is deleted", report, began)
	}
	r.gone("everything is deleted", of(objects, storage...))
}

// withoutAll leaves one object: an empty commit is refused by some engines.
func (r *run) withoutAll() {
	r.t.Helper()
	r.remove("storage")
	r.remove("platform.yaml")
	r.write("left.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: left, namespace: default}\n")
	r.list("left.yaml")
}

// withoutPools deletes the file of the pool cluster, and its line.
func (r *run) withoutPools() {
	r.t.Helper()
	r.remove("storage/rendered/" + r.folder() + "/cstorpoolcluster.yaml")
	var kept []string
	for _, name := range []string{"cstorclusterplan", "cstorclusterstorageset", "persistentvolumeclaim", "storage", "volumeattachment"} {
		kept = append(kept, "storage/rendered/"+r.folder()+"/"+name+".yaml")
	}
	r.list(append(kept, "platform.yaml")...)
}

// withoutStorage deletes the whole package.
func (r *run) withoutStorage() {
	r.t.Helper()
	r.remove("storage")
	r.list("platform.yaml")
}

func (r *run) folder() string { return "cstorclusterconfig." + r.Namespace + ".prod" }

// atWork waits for the CSI driver, the operator and Kubernetes: kpt fails on the
// conflict if they write to an object while it releases it.
func (r *run) atWork(objects []*unstructured.Unstructured) {
	r.t.Helper()
	for _, o := range of(objects, data...) {
		r.await(ID(o)+" is at work", func() bool {
			live, err := r.cluster.Get(r.t.Context(), o.GroupVersionKind(), o.GetNamespace(), o.GetName())
			r.check(err)
			return live != nil && working(live)
		})
	}
}

// working reports whether nobody has anything left to write to an object.
func working(live *unstructured.Unstructured) bool {
	switch live.GetKind() {
	case "PersistentVolumeClaim":
		return str(live, "status", "phase") == "Bound"
	case "VolumeAttachment":
		attached, _, _ := unstructured.NestedBool(live.Object, "status", "attached")
		return attached
	}
	pools, _, _ := unstructured.NestedSlice(live.Object, "spec", "pools")
	healthy, _, _ := unstructured.NestedInt64(live.Object, "status", "healthyInstances")
	return healthy == int64(len(pools))
}

func (r *run) await(what string, done func() bool) {
	r.t.Helper()
	r.awaitSaying(func() string { return what }, done)
}

// awaitSaying is await where what is missing is known only at the end.
func (r *run) awaitSaying(what func() string, done func() bool) {
	r.t.Helper()
	const patience = 5 * time.Minute // far above what it takes on a busy machine
	for deadline := time.Now().Add(patience); !done(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Fatalf("%s, and it is not so: %s", patience, what())
		}
	}
}

// only is the state of some of the objects.
func (s State) only(objects []*unstructured.Unstructured) State {
	some := State{}
	for _, o := range objects {
		some[ID(o)] = s[ID(o)]
	}
	return some
}

func kindsOf(objects []*unstructured.Unstructured) string {
	ids := make([]string, len(objects))
	for i, o := range objects {
		ids[i] = ID(o)
	}
	slices.Sort(ids)
	return kinds(ids)
}

// install applies the definitions as an administrator does.
func (r *run) install(d definitions) {
	r.t.Helper()
	r.platform(true, d)
	r.list("platform.yaml")
	for _, o := range of(r.objects(), "CustomResourceDefinition") {
		live, err := r.cluster.Get(r.t.Context(), o.GroupVersionKind(), "", o.GetName())
		r.check(err)
		if live == nil {
			r.check(r.cluster.Apply(r.t.Context(), o))
		}
	}
	r.check(r.suite.Plane.AwaitServed(r.t.Context()))
}
