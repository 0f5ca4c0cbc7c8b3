package scenario

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// RunDiskPools puts an engine through the DiskPool example: deleting what was rendered, or
// the engine's own object, never deletes a pool; without protection it does.
func RunDiskPools(t *testing.T, s Suite) {
	c, err := Connect(s.Plane.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range append(Upstream(t, "openebs-diskpool.yaml"), lockDefinition(t, s)...) {
		if err := c.Apply(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Plane.AwaitServed(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Run("confirm", func(t *testing.T) { poolsProtected(t, s, c) })
	t.Run("off", func(t *testing.T) { poolsUnprotected(t, s, c) })
}

// lockDefinition is what the cluster needs to keep the locks that "intermediates: apply" renders.
func lockDefinition(t *testing.T, s Suite) []*unstructured.Unstructured {
	t.Helper()
	return parseFile(t, filepath.Join(s.Root, "deploy/crds/disklocks.poolwright.io.yaml"))
}

// poolsProtected deletes pools from Git in each way.
func poolsProtected(t *testing.T, s Suite, c *Cluster) {
	r := beginPools(t, s, c, "confirm")
	objects, before := r.synced()
	pools := of(objects, diskPoolKind.Kind)
	before = before.only(pools)

	restore := r.save()
	r.remove("storage/rendered/" + r.poolFolder() + "/diskpool.yaml")
	r.list("platform.yaml", "storage/rendered/"+r.poolFolder()+"/storageclass.yaml")
	what := "the file of the pools is deleted from Git"
	report := r.sync(what)
	r.survives(what, pools, before)
	_, asks := r.engine.(Approver)
	if asks && !strings.Contains(report.Waiting, diskPoolKind.Kind) {
		t.Errorf("%s: the engine waits for %q", what, report.Waiting)
	}
	restore()
	r.sync("it is back")
	r.survives("it is back", pools, before)

	r.withoutStorage()
	what = "all that was rendered, and the spec, is deleted from Git"
	r.sync(what)
	r.survives(what, pools, before)
	r.gone(what, of(objects, "StorageClass")) // so that it did act
	restore()
	r.sync("it is back")
	r.survives("it is back", pools, before)

	r.outlivesEngine(pools, before)
}

// poolsUnprotected is the proof that this could fail.
func poolsUnprotected(t *testing.T, s Suite, c *Cluster) {
	r := beginPools(t, s, c, "off")
	objects, _ := r.synced()
	pools := of(objects, diskPoolKind.Kind)
	restore := r.save()
	r.withoutStorage()
	what := "all that was rendered is deleted from Git"
	r.sync(what)
	r.gone(what, pools)
	r.absent(pools)
	restore()
	r.sync("it is back")
	_, err := r.engine.Delete(t.Context())
	r.check(err)
	r.gone("the engine's own object is deleted", pools)
}

// poolRun is a working tree with the DiskPool example, and the operator of Mayastor.
type poolRun struct {
	*run
	atWork atomic.Bool // the operator
}

func beginPools(t *testing.T, s Suite, c *Cluster, protection string) *poolRun {
	t.Helper()
	g := newGit(t, s, protection, protection)
	g.example = "diskpools"
	for _, name := range []string{"diskpools.yaml", "inventory"} {
		g.copy(name, filepath.Join("storage", name))
	}
	// Classes are in no namespace.
	spec := filepath.Join(g.Dir, "storage/diskpools.yaml")
	text, err := os.ReadFile(spec)
	g.check(err)
	g.check(os.WriteFile(spec, []byte(strings.ReplaceAll(string(text), "name: fast-", "name: "+g.name+"-")), 0o666))
	g.platform(protection != "off", definitions{})
	g.run(g.Dir, s.Poolwright, "render", "storage")
	g.list("platform.yaml", "storage/rendered")
	r := &poolRun{run: &run{Git: g, engine: s.New(t, g.name), cluster: c}}
	r.play()
	return r
}

func (r *poolRun) poolFolder() string { return "diskpoolset." + r.Namespace + ".fast" }

// synced syncs. Where the engine heeds health, it is not done before the operator is.
func (r *poolRun) synced() ([]*unstructured.Unstructured, State) {
	r.t.Helper()
	if r.suite.HeedsHealth {
		done := make(chan bool, 1)
		go func() {
			_, err := r.engine.Sync(r.t.Context(), r.Dir)
			if err != nil {
				r.t.Error(err)
			}
			done <- true
		}()
		r.await("the pools are applied", func() bool {
			pools := of(r.objects(), diskPoolKind.Kind)
			return len(r.state(pools)) == len(pools)
		})
		select {
		case <-done:
			r.t.Error("the engine went on, and no pool is there yet")
		case <-time.After(2 * time.Second):
			r.atWork.Store(true)
			<-done
		}
	}
	r.atWork.Store(true)
	r.sync("all in one commit")
	objects, state := r.applied("all in one commit")
	r.await("the pools are online", func() bool {
		for _, o := range of(objects, diskPoolKind.Kind) {
			live, err := r.cluster.Get(r.t.Context(), diskPoolKind, o.GetNamespace(), o.GetName())
			r.check(err)
			if live == nil || str(live, "status", "pool_status") != "Online" {
				return false
			}
		}
		return true
	})
	r.healthy("the pools are online")
	return objects, state
}

// play plays the operator until the test ends: while it is at work it puts its finalizer on
// each pool, creates it, and releases one that is deleted.
func (r *poolRun) play() {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.t.Context())
	done := make(chan error, 1)
	go func() {
		var err error
		for ctx.Err() == nil {
			if failed := r.operate(ctx); ctx.Err() == nil {
				err = failed // retried
			}
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
		done <- err
	}()
	r.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil && r.t.Failed() {
			r.t.Log("the operator that is played failed:", err)
		}
	})
}

func (r *poolRun) operate(ctx context.Context) error {
	client, err := r.cluster.resource(diskPoolKind, r.Namespace)
	if err != nil || client == nil || !r.atWork.Load() {
		return err
	}
	pools, err := client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range pools.Items {
		p := &pools.Items[i]
		switch {
		case p.GetDeletionTimestamp() != nil:
			p.SetFinalizers(nil)
			_, err = client.Update(ctx, p, metav1.UpdateOptions{})
		case len(p.GetFinalizers()) == 0:
			p.SetFinalizers([]string{"openebs.io/diskpool-protection"})
			_, err = client.Update(ctx, p, metav1.UpdateOptions{})
		case str(p, "status", "pool_status") == "":
			p.Object["status"] = map[string]any{"cr_state": "Created", "pool_status": "Online", "capacity": int64(1), "used": int64(0), "available": int64(1)}
			_, err = client.UpdateStatus(ctx, p, metav1.UpdateOptions{})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
