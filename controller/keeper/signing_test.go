package keeper_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/poolwright/poolwright/test/gitserver"
)

// TestSigned: git finds the signature of a published commit good. A key that cannot be used is named, and
// nothing is published without it.
func TestSigned(t *testing.T) {
	t.Parallel()
	k := newKube(t)
	const ns, name = "signed", "prod"
	k.member(t, ns, "signed-1")
	server := gitserver.New(t, filesOf(ns))
	head := server.Head(t, "main")
	k.must(t, `{apiVersion: v1, kind: Namespace, metadata: {name: %s}}`, ns)
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	text := string(pem.EncodeToMemory(block))
	k.must(t, `{apiVersion: v1, kind: Secret, metadata: {name: signing, namespace: %s}, stringData: {identity: %q}}`, ns, text[:len(text)/2])
	secret(t, k, ns, server.User, server.Password)
	k.must(t, `
apiVersion: poolwright.io/v1alpha1
kind: Hydration
metadata: {name: %s, namespace: %s}
spec:
  source: {url: "%s", path: %s, interval: 10s, secretRef: {name: git}}
  publish: {mode: Branch, signingKey: {name: signing}}
  facts: {debounce: 0s}
`, name, ns, server.Repository(), dir)
	said := keep(t, ns)
	h := k.becomes(t, ns, name, "AuthenticationFailed")
	if got := h.Status.Condition("Ready").Message; got != "the Secret signing that spec.publish.signingKey names has no private key of SSH in identity; write the output of ssh-keygen" {
		t.Errorf("the message is %q", got)
	}
	if got := server.Head(t, "main"); got != head {
		t.Errorf("published without a signature: %s", got)
	}
	k.must(t, `{apiVersion: v1, kind: Secret, metadata: {name: signing, namespace: %s}, stringData: {identity: %q}}`, ns, text)
	k.reconcile(t, ns, name)
	k.becomes(t, ns, name, "Published", "UpToDate")
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	signers := filepath.Join(t.TempDir(), "signers")
	if err := os.WriteFile(signers, append([]byte("poolwright@example.com "), ssh.MarshalAuthorizedKey(signer.PublicKey())...), 0o600); err != nil {
		t.Fatal(err)
	}
	server.Git(t, "-c", "gpg.format=ssh", "-c", "gpg.ssh.allowedSignersFile="+signers, "verify-commit", "main")
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); strings.Contains(said.String()+k.everything(t, ns), line) {
			t.Errorf("the key is shown: %s", line)
		}
	}
}
