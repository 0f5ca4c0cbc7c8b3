package signature_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"golang.org/x/crypto/ssh"

	"github.com/poolwright/poolwright/controller/signature"
	"github.com/poolwright/poolwright/controller/tree"
	"github.com/poolwright/poolwright/test/tool"
)

const passphrase = "passphrase-canary-0820"

// repository is one of git, with one tree.
type repository struct {
	dir  string
	tree plumbing.Hash
}

func newRepository(t *testing.T) *repository {
	t.Helper()
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		tool.Missing(t, "ssh-keygen is not installed")
	}
	r := &repository{dir: t.TempDir()}
	r.git(t, "init", "-q", ".")
	r.tree = plumbing.NewHash(strings.TrimSpace(r.git(t, "hash-object", "-t", "tree", "-w", "/dev/null")))
	return r
}

func (r *repository) run(args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GNUPGHOME="+filepath.Join(r.dir, ".git", "gnupg"), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (r *repository) git(t *testing.T, args ...string) string {
	t.Helper()
	out, err := r.run(args...)
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return out
}

// commit makes a commit as the controller does.
func (r *repository) commit(t *testing.T, data map[string][]byte) string {
	t.Helper()
	key, err := signature.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	store := filesystem.NewStorage(osfs.New(filepath.Join(r.dir, ".git")), cache.NewObjectLRUDefault())
	parent := plumbing.NewHash(strings.TrimSpace(r.git(t, "-c", "user.name=Ann", "-c", "user.email=ann@example.com", "commit-tree", "-m", "first", r.tree.String())))
	hash, err := tree.Commit{
		Tree: r.tree, Parent: parent, Author: tree.Author{Name: "Poolwright", Email: "bot@example.com"},
		Time: time.Now(), Message: "1 to create\n\nPoolwright-Risk: safe\n", Key: key,
	}.Write(store)
	if err != nil {
		t.Fatal(err)
	}
	r.git(t, "fsck", "--strict")
	return hash.String()
}

func privateSSH(t *testing.T, key any, passphrase string) ([]byte, ssh.PublicKey) {
	t.Helper()
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	var block *pem.Block
	if passphrase == "" {
		block, err = ssh.MarshalPrivateKey(key, "")
	} else {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(key, "", []byte(passphrase))
	}
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(block), signer.PublicKey()
}

// TestSSH: git itself finds the signature of each kind of key good, and that of another commit not.
func TestSSH(t *testing.T) {
	r := newRepository(t)
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	long, err := rsa.GenerateKey(rand.Reader, 3072)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		key        any
		passphrase string
	}{"ed25519": {edwards, ""}, "encrypted": {edwards, passphrase}, "RSA": {long, ""}} {
		private, public := privateSSH(t, c.key, c.passphrase)
		commit := r.commit(t, map[string][]byte{"identity": private, "password": []byte(c.passphrase + "\n")})
		signers := filepath.Join(t.TempDir(), "signers")
		if err := os.WriteFile(signers, append([]byte("bot@example.com "), ssh.MarshalAuthorizedKey(public)...), 0o600); err != nil {
			t.Fatal(err)
		}
		verify := []string{"-c", "gpg.format=ssh", "-c", "gpg.ssh.allowedSignersFile=" + signers, "verify-commit"}
		if out, err := r.run(append(verify, commit)...); err != nil || !strings.Contains(out, `Good "git" signature for bot@example.com`) {
			t.Errorf("%s: %v: %s", name, err, out)
		}
		text := strings.Replace(r.git(t, "cat-file", "commit", commit), "1 to create", "2 to create", 1)
		forged := filepath.Join(t.TempDir(), "forged")
		if err := os.WriteFile(forged, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := r.run(append(verify, strings.TrimSpace(r.git(t, "hash-object", "-t", "commit", "-w", forged)))...); err == nil {
			t.Errorf("%s: another commit has a good signature: %s", name, out)
		}
	}
}

func privatePGP(t *testing.T, e *openpgp.Entity) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := armor.Encode(&b, openpgp.PrivateKeyType, nil)
	if err == nil {
		err = e.SerializePrivateWithoutSigning(w, nil)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestOpenPGP: the signature is good for the library, and for gpg where it is installed.
func TestOpenPGP(t *testing.T) {
	r := newRepository(t)
	for _, locked := range []bool{false, true} {
		e, err := openpgp.NewEntity("Poolwright", "", "bot@example.com", &packet.Config{Algorithm: packet.PubKeyAlgoEdDSA})
		if err != nil {
			t.Fatal(err)
		}
		var public bytes.Buffer
		if err := e.Serialize(&public); err != nil {
			t.Fatal(err)
		}
		data := map[string][]byte{}
		if locked {
			if err := e.EncryptPrivateKeys([]byte(passphrase), nil); err != nil {
				t.Fatal(err)
			}
			data["passphrase"] = []byte(passphrase)
		}
		data["git.asc"] = privatePGP(t, e)
		commit := r.commit(t, data)
		text := r.git(t, "cat-file", "commit", commit)
		header, rest, _ := strings.Cut(text, "\ngpgsig ")
		signed, body, _ := strings.Cut(rest, "-----END PGP SIGNATURE-----\n")
		armored := strings.ReplaceAll(signed, "\n ", "\n") + "-----END PGP SIGNATURE-----\n"
		ring, err := openpgp.ReadKeyRing(&public)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := openpgp.CheckArmoredDetachedSignature(ring, strings.NewReader(header+"\n"+body), strings.NewReader(armored), nil); err != nil {
			t.Errorf("locked %v: %v\n%s", locked, err, text)
		}
		if _, err := exec.LookPath("gpg"); err != nil {
			continue
		}
		home := filepath.Join(r.dir, ".git", "gnupg")
		if err := os.MkdirAll(home, 0o700); err != nil {
			t.Fatal(err)
		}
		var again bytes.Buffer
		if err := e.Serialize(&again); err != nil {
			t.Fatal(err)
		}
		in := exec.Command("gpg", "--homedir", home, "--batch", "--no-autostart", "--import")
		in.Stdin = &again
		if out, err := in.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if out, err := r.run("verify-commit", commit); err != nil || !strings.Contains(out, "Good signature from") {
			t.Errorf("locked %v: %v: %s", locked, err, out)
		}
	}
}

// TestRead: what is wrong with a key is said without a part of it.
func TestRead(t *testing.T) {
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	locked, _ := privateSSH(t, edwards, passphrase)
	e, err := openpgp.NewEntity("Poolwright", "", "bot@example.com", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.EncryptPrivateKeys([]byte(passphrase), nil); err != nil {
		t.Fatal(err)
	}
	expired, err := openpgp.NewEntity("Poolwright", "", "bot@example.com", &packet.Config{
		KeyLifetimeSecs: 1, Time: func() time.Time { return time.Unix(1_000_000_000, 0) },
	})
	if err != nil {
		t.Fatal(err)
	}
	for want, data := range map[string]map[string][]byte{
		"has neither git.asc nor identity; add a private key of OpenPGP (gpg --export-secret-keys --armor) or of SSH": nil,
		"has both git.asc and identity; remove one": {"git.asc": nil, "identity": nil},
		"has no armored private key in git.asc, or several; write the output of gpg --export-secret-keys --armor KEY": {"git.asc": []byte("key-canary")},
		"has a key in git.asc that passphrase does not open; correct the passphrase":                                  {"git.asc": privatePGP(t, e), "passphrase": []byte("wrong-canary")},
		"has a key in git.asc that cannot sign: it is expired, revoked, or for other purposes; write another one":     {"git.asc": privatePGP(t, expired)},
		"has no private key of SSH in identity; write the output of ssh-keygen":                                       {"identity": []byte("key-canary")},
		"has a key in identity that password does not open; correct the passphrase":                                   {"identity": locked, "password": []byte("wrong-canary")},
		"has a key in identity that password does not open; correct the passphrase ":                                  {"identity": locked},
	} {
		if _, err := signature.Read(data); err == nil || err.Error() != strings.TrimSpace(want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
