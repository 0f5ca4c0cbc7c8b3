// Package signature signs commits, as git commit -S does: with a key of OpenPGP, or with one of SSH.
package signature

import (
	"bytes"
	"crypto/rand"
	"crypto/sha512"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/ProtonMail/go-crypto/openpgp"
	"golang.org/x/crypto/ssh"
)

// The keys of a Secret. Those of OpenPGP are those of Flux's image-automation-controller; those of SSH are
// those of the Secret of a source.
const (
	openPGPKey        = "git.asc"
	openPGPPassphrase = "passphrase"
	sshKey            = "identity"
	sshPassphrase     = "password"
)

// Key signs commits.
type Key struct {
	openPGP *openpgp.Entity
	ssh     ssh.Signer
}

// Read reads the key of a Secret: git.asc, armored, and passphrase; or identity and password. The error
// says what is wrong with which key of the Secret, and nothing of what is in it.
func Read(data map[string][]byte) (*Key, error) {
	pgp, isPGP := data[openPGPKey]
	identity, isSSH := data[sshKey]
	switch {
	case isPGP && isSSH:
		return nil, fmt.Errorf("has both %s and %s; remove one", openPGPKey, sshKey)
	case isPGP:
		return readOpenPGP(pgp, passphraseOf(data, openPGPPassphrase))
	case isSSH:
		return readSSH(identity, passphraseOf(data, sshPassphrase))
	}
	return nil, fmt.Errorf("has neither %s nor %s; add a private key of OpenPGP (gpg --export-secret-keys --armor) or of SSH", openPGPKey, sshKey)
}

func passphraseOf(data map[string][]byte, key string) []byte {
	return bytes.TrimRight(data[key], "\r\n")
}

func readOpenPGP(text, passphrase []byte) (*Key, error) {
	ring, err := openpgp.ReadArmoredKeyRing(bytes.NewReader(text))
	if err != nil || len(ring) != 1 || ring[0].PrivateKey == nil {
		return nil, fmt.Errorf("has no armored private key in %s, or several; write the output of gpg --export-secret-keys --armor KEY", openPGPKey)
	}
	e := ring[0]
	if e.PrivateKey.Encrypted {
		if err := e.DecryptPrivateKeys(passphrase); err != nil {
			return nil, fmt.Errorf("has a key in %s that %s does not open; correct the passphrase", openPGPKey, openPGPPassphrase)
		}
	}
	k := &Key{openPGP: e}
	if _, err := k.Sign(nil); err != nil {
		return nil, fmt.Errorf("has a key in %s that cannot sign: it is expired, revoked, or for other purposes; write another one", openPGPKey)
	}
	return k, nil
}

func readSSH(text, passphrase []byte) (*Key, error) {
	signer, err := ssh.ParsePrivateKey(text)
	if missing := new(ssh.PassphraseMissingError); errors.As(err, &missing) {
		if signer, err = ssh.ParsePrivateKeyWithPassphrase(text, passphrase); err != nil {
			return nil, fmt.Errorf("has a key in %s that %s does not open; correct the passphrase", sshKey, sshPassphrase)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("has no private key of SSH in %s; write the output of ssh-keygen", sshKey)
	}
	return &Key{ssh: signer}, nil
}

// Sign signs what git hashes of a commit without signature. It gives the text of the header gpgsig.
func (k *Key) Sign(commit []byte) (string, error) {
	if k.ssh != nil {
		return k.signSSH(commit)
	}
	var b bytes.Buffer
	if err := openpgp.ArmoredDetachSign(&b, k.openPGP, bytes.NewReader(commit), nil); err != nil {
		return "", err
	}
	return b.String() + "\n", nil
}

// magic begins a signature of SSH and what is signed (OpenSSH, PROTOCOL.sshsig).
const magic = "SSHSIG"

// signSSH makes an armored signature as ssh-keygen -Y sign -n git does.
func (k *Key) signSSH(commit []byte) (string, error) {
	const namespace, hash = "git", "sha512"
	sum := sha512.Sum512(commit)
	signed := append([]byte(magic), ssh.Marshal(struct{ Namespace, Reserved, Hash, Sum string }{namespace, "", hash, string(sum[:])})...)
	signature, err := signBytes(k.ssh, signed)
	if err != nil {
		return "", err
	}
	blob := append([]byte(magic), ssh.Marshal(struct {
		Version                                         uint32
		PublicKey, Namespace, Reserved, Hash, Signature string
	}{1, string(k.ssh.PublicKey().Marshal()), namespace, "", hash, string(ssh.Marshal(signature))})...)
	return string(pem.EncodeToMemory(&pem.Block{Type: "SSH SIGNATURE", Bytes: blob})), nil
}

// signBytes signs by RSA with SHA-512: the signature of SHA-1 that is the default is refused.
func signBytes(key ssh.Signer, data []byte) (*ssh.Signature, error) {
	if key.PublicKey().Type() == ssh.KeyAlgoRSA {
		if chosen, can := key.(ssh.AlgorithmSigner); can {
			return chosen.SignWithAlgorithm(rand.Reader, data, ssh.KeyAlgoRSASHA512)
		}
	}
	return key.Sign(rand.Reader, data)
}
