package registry

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"

	"github.com/poolwright/poolwright/controller/remote"
	"github.com/poolwright/poolwright/fn/hydration"
)

// Credentials are those for one repository.
type Credentials struct {
	authn.AuthConfig
	CA []byte // certificates of authorities, PEM
}

// secrets are the texts that nobody may see.
func (c *Credentials) secrets() []string {
	all := []string{c.Password, c.Auth, c.IdentityToken, c.RegistryToken}
	if c.Password != "" {
		all = append(all, c.Username+":"+c.Password)
	}
	return all
}

// dockerConfig is the key of a Secret of type kubernetes.io/dockerconfigjson.
const dockerConfig = ".dockerconfigjson"

// ReadSecret reads the data of a Secret for a repository: .dockerconfigjson, or username and password;
// ca.crt. The error is a *remote.Error.
func ReadSecret(data map[string][]byte, a Address) (Credentials, error) {
	text := func(key string) string { return strings.TrimRight(string(data[key]), "\r\n") }
	c := Credentials{AuthConfig: authn.AuthConfig{Username: text("username"), Password: text("password")}, CA: data["ca.crt"]}
	config, found := data[dockerConfig]
	if !found {
		return c, nil
	}
	var read struct {
		Auths map[string]authn.AuthConfig `json:"auths"`
	}
	if json.Unmarshal(config, &read) != nil { // its error may have a part of the text
		return c, &remote.Error{Reason: remote.Unknown, Message: fmt.Sprintf("%s of the Secret that %s names cannot be read; write the JSON that docker login writes", dockerConfig, secretRef)}
	}
	best := -1
	for server, auth := range read.Auths {
		if n := a.under(server); n > best {
			best, c.AuthConfig = n, auth
		}
	}
	if best < 0 {
		return c, &remote.Error{Reason: remote.Unknown, Message: fmt.Sprintf("%s of the Secret that %s names has nothing for %s; add it under auths", dockerConfig, secretRef, a.host)}
	}
	return c, nil
}

// under is how long the address is of a server in a configuration of Docker that a repository is on; -1
// if it is on another one.
func (a Address) under(server string) int {
	server = strings.TrimPrefix(strings.TrimPrefix(server, "https://"), "http://")
	for _, end := range []string{"/", "/v1", "/v2"} {
		server = strings.TrimSuffix(server, end)
	}
	host, folder, _ := strings.Cut(server, "/")
	if hydration.Registry(host) != a.host || folder != "" && !strings.HasPrefix(a.repository+"/", folder+"/") {
		return -1
	}
	return len(folder)
}
