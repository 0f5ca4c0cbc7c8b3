package schema

import (
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"cuelang.org/go/cue"

	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// toys are two systems that come later, each a folder of its own. Both call their
// spec a Pool, and both render claims.
var toys = fstest.MapFS{
	"buckets/pool.cue": {Data: []byte(`package buckets

import (
	"poolwright.io/schema/common"
	"poolwright.io/schema/kubernetes"
)

// A pool of buckets.
#Pool: {
	@kind(role=spec, scope=Namespaced, plural=pools)

	apiVersion!: "buckets.example/v1"
	kind!:       "Pool"
	metadata!:   common.#NamespacedMeta
	spec!: {
		// The size of a bucket.
		size: *"1Gi" | common.#Capacity
		// The nodes.
		nodes?: [...common.#NodeTerm]
		// The class that is made.
		class?: kubernetes.#ClassSettings

		#rules: "bucket-size": {
			@cel("$small != '1Ki'", message="is too small")

			at: "size"
			if size == "1Ki" {message: "is too small"}
		}
	}
	status?: {...} @live(common.#Status)
}

#BucketClaim: kubernetes.#PersistentVolumeClaim & {
	@rendered(for=Pool)

	spec!: volumeMode!: "Filesystem"
}

#BucketClass: kubernetes.#StorageClass & {
	@rendered(for=Pool)
}
`)},
	"buckets/cel/parts.cue": {Data: []byte("package cel\n\n_small: \"self.size\"\n")},
	"sinks/pool.cue": {Data: []byte(`package sinks

import "poolwright.io/schema/common"

// A pool of sinks.
#Pool: {
	@kind(role=spec, scope=Namespaced, plural=pools)

	apiVersion!: "sinks.example/v1"
	kind!:       "Pool"
	metadata!:   common.#NamespacedMeta
	spec!: {
		// How many sinks there are.
		count!: int
	}
}
`)},
}

// Another system is a folder: nothing else names it, and kinds of one name are
// distinguished by their groups.
func TestPackagesAreFound(t *testing.T) {
	s := Load(toys)
	names := s.Names()
	for _, want := range []string{"Pool.buckets.example", "Pool.sinks.example", "CStorClusterConfig"} {
		if !slices.Contains(names, want) {
			t.Errorf("kinds are %q, without %s", names, want)
		}
	}
	roles := map[string]Role{}
	for _, k := range s.Kinds() {
		roles[k.GroupKind.String()] = k.Role
	}
	if role := roles["StorageClass.storage.k8s.io"]; role != Rendered {
		t.Errorf("a StorageClass is %q, and a system renders it", role)
	}
	for _, c := range []struct{ text, want string }{
		{`{apiVersion: buckets.example/v1, kind: Pool, metadata: {name: a, namespace: b}, spec: {size: 1Ki}}`,
			"spec.size: is too small"},
		{`{apiVersion: sinks.example/v1, kind: Pool, metadata: {name: a, namespace: b}, spec: {}}`,
			"spec.count: is missing; write a whole number"},
		{`{apiVersion: drains.example/v1, kind: Pool, metadata: {name: a, namespace: b}, spec: {}}`,
			`apiVersion: "drains.example/v1" has no kind Pool; write buckets.example/v1 or sinks.example/v1`},
		{`{apiVersion: drains.example/v1, kind: RenderConfig}`,
			"apiVersion: must be poolwright.io/v1alpha1, not \"drains.example/v1\""},
	} {
		_, ref, n := parsed(t, c.text)
		_, findings := s.Complete(nil, ref, n)
		if len(findings) != 1 || !strings.Contains(findings[0].String(), c.want) {
			t.Errorf("%s: got %v, want %s", c.text, findings, c.want)
		}
	}
	for _, name := range []string{"Pool.buckets.example", "Pool.sinks.example"} {
		for _, f := range Formats() {
			text, err := s.Export(name, Format(f))
			if err != nil {
				t.Errorf("%s as %s: %v", name, f, err)
			}
			if f == string(CRD) && strings.HasPrefix(name, "Pool.buckets") && !strings.Contains(string(text), "self.size != '1Ki'") {
				t.Errorf("the CEL of %s is not put together:\n%s", name, text)
			}
		}
	}
	if _, err := s.Export("Pool", CUE); err == nil || !strings.Contains(err.Error(), "Pool.sinks.example") {
		t.Errorf("which Pool? %v", err)
	}
}

// The export of a kind is one file, in which a name can mean one thing only.
func TestNamesThatMeet(t *testing.T) {
	s := Load(fstest.MapFS{"meet/kind.cue": {Data: []byte(`package meet

import "poolwright.io/schema/common"

// A kind.
#Kind: {
	@kind(role=config, scope=Namespaced, plural=kinds, file)

	apiVersion!: "meet.example/v1"
	kind!:       "Kind"
	metadata!:   common.#NamespacedMeta
	labels?:     #Labels
}

#Labels: [...string]
`)}})
	_, err := s.Export("Kind", CUE)
	if err == nil || !strings.Contains(err.Error(), "packages common and meet both define #Labels") && !strings.Contains(err.Error(), "packages meet and common both define #Labels") {
		t.Errorf("got %v", err)
	}
	if _, err := s.Export("Kind", JSONSchema); err != nil {
		t.Error(err)
	}
}

// Packages are compiled when they are first asked for, so a mistake in one would
// be found late.
func TestEveryPackageCompiles(t *testing.T) {
	s := Load()
	for _, folder := range s.sources.folders() {
		s.sources.compile().folder(folder) // panics
	}
	for _, k := range s.Kinds() {
		d := s.lookup(k.GroupKind.String())
		for _, field := range []struct{ name, want string }{{"kind", k.Kind}, {"apiVersion", k.APIVersion()}} {
			if got, err := d.value.LookupPath(cue.MakePath(cue.Str(field.name).Required())).String(); got != field.want {
				t.Errorf("%v: %s is read as %q, and is %q (%v)", d.name, field.name, field.want, got, err)
			}
		}
	}
}

// What a system asks of a claim holds for its own claims only.
func TestClaimsOfEachSystem(t *testing.T) {
	s := Load(toys)
	for owner, want := range map[string]string{
		"": "",
		"dao.mayadata.io/CStorClusterConfig/openebs/prod": "spec.volumeMode: must be Block, not \"Filesystem\"",
		"buckets.example/Pool/openebs/prod":               "",
		"sinks.example/Pool/openebs/prod":                 "",
		"nobody":                                          "",
	} {
		_, ref, n := parsed(t, `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a, namespace: b},
spec: {accessModes: [ReadWriteOnce], volumeMode: Filesystem, storageClassName: c, resources: {requests: {storage: 1Gi}}}}`)
		if owner != "" {
			n.Get("metadata").Set("annotations", document.Object(document.F("poolwright.io/owner", document.Text(owner))))
		}
		var got string
		for _, f := range s.Check(nil, ref, n) {
			got += f.Field + ": " + f.Message
		}
		if got != want {
			t.Errorf("rendered for %q: got %q, want %q", owner, got, want)
		}
	}
}

// A CUE context keeps what it was given as long as it exists, and status
// --watch evaluates for weeks.
func TestMemoryDoesNotGrow(t *testing.T) {
	s := Load()
	src, ref, n := parsed(t, smallSpec)
	complete := func(times int) uint64 {
		for range times {
			if completed, findings := s.Complete(src.Position, ref, n); completed == nil || finding.Failed(findings) {
				t.Fatal(findings)
			}
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := complete(100)
	after := complete(1000)
	if grown := int64(after) - int64(before); grown > 256<<10 {
		t.Errorf("1,000 documents left %d KiB behind", grown>>10)
	}
}
