package remote

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// Credentials are those of a Secret, under the names that Flux gives them.
type Credentials struct {
	Username, Password   string
	BearerToken          string
	Identity, KnownHosts []byte // of SSH: a private key, and the keys of the servers
	CA                   []byte // certificates of authorities, PEM
}

// ReadSecret reads the data of a Secret: username and password, bearerToken, identity and
// known_hosts, ca.crt.
func ReadSecret(data map[string][]byte) Credentials {
	text := func(key string) string { return strings.TrimRight(string(data[key]), "\r\n") }
	return Credentials{
		Username: text("username"), Password: text("password"), BearerToken: text("bearerToken"),
		Identity: data["identity"], KnownHosts: data["known_hosts"], CA: data["ca.crt"],
	}
}

func (c *Credentials) isEmpty() bool {
	return c.Password == "" && c.BearerToken == "" && len(c.Identity) == 0
}

// IsZero reports whether a Secret has none of them.
func (c *Credentials) IsZero() bool {
	return c.isEmpty() && c.Username == "" && len(c.KnownHosts) == 0 && len(c.CA) == 0
}

// redactor removes credentials from what a server says.
type redactor struct{ secrets []string }

// secrets are the texts that nobody may see.
func (c *Credentials) secrets() []string {
	plain := []string{c.Password, c.BearerToken, strings.TrimSpace(string(c.Identity))}
	if c.Password != "" {
		plain = append(plain, c.Username+":"+c.Password)
	}
	for line := range strings.Lines(string(c.Identity)) {
		if line = strings.TrimSpace(line); len(line) > 16 && !strings.HasPrefix(line, "-----") {
			plain = append(plain, line)
		}
	}
	return plain
}

// newRedactor knows secrets as they are, and as they are sent or quoted.
func newRedactor(plain ...string) redactor {
	var r redactor
	for _, secret := range plain {
		if secret == "" {
			continue
		}
		b := []byte(secret)
		for _, form := range []string{
			secret, url.QueryEscape(secret), url.PathEscape(secret), url.UserPassword("", secret).String()[1:], hex.EncodeToString(b),
			strings.TrimRight(base64.StdEncoding.EncodeToString(b), "="), strings.TrimRight(base64.URLEncoding.EncodeToString(b), "="),
		} {
			if !slices.Contains(r.secrets, form) {
				r.secrets = append(r.secrets, form)
			}
		}
	}
	// The longest first: one may be a part of another.
	slices.SortFunc(r.secrets, func(a, b string) int { return len(b) - len(a) })
	return r
}

// clean makes one line of what a server says, without credentials and control characters, and not too
// long.
func (r redactor) clean(text string) string {
	for _, secret := range r.secrets {
		text = strings.ReplaceAll(text, secret, "***")
	}
	text = strings.Join(strings.FieldsFunc(text, func(c rune) bool { return unicode.IsSpace(c) || !unicode.IsPrint(c) }), " ")
	if len(text) > mostWords {
		text = strings.ToValidUTF8(text[:mostWords], "") + "..."
	}
	return text
}
