package argocd

import (
	"os"
	"path/filepath"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/poolwright/poolwright/test/checks/lua"
	"github.com/poolwright/poolwright/test/engines/scenario"
)

// checks are the health checks of deploy/argocd: the settings of an argocd-cm.
type checks map[string]string

// readChecks reads them, from the root of the repository.
func readChecks(root string) (checks, error) {
	text, err := os.ReadFile(filepath.Join(root, "deploy/argocd/health/argocd-cm.yaml"))
	if err != nil {
		return nil, err
	}
	var settings struct{ Data checks }
	err = yaml.Unmarshal(text, &settings)
	return settings.Data, err
}

// GetResourceHealth implements health.HealthOverride. What has no check is left to
// the engine.
func (c checks) GetResourceHealth(o *unstructured.Unstructured) (*health.HealthStatus, error) {
	kind := o.GroupVersionKind()
	script, found := c["resource.customizations.health."+kind.Group+"_"+kind.Kind]
	if !found {
		return nil, nil
	}
	status, message, err := lua.Health(script, o.Object)
	if err != nil {
		return nil, err
	}
	return &health.HealthStatus{Status: health.HealthStatusCode(status), Message: message}, nil
}

// Unhealthy lists what makes the Application less than Healthy.
func (a *Application) Unhealthy() ([]string, error) {
	live, err := a.cache.GetManagedLiveObjs(nil, a.manages)
	if err != nil {
		return nil, err
	}
	var unhealthy []string
	for _, o := range live {
		h, err := health.GetResourceHealth(o, a.checks)
		if err != nil {
			return nil, err
		}
		if h != nil && h.Status != health.HealthStatusHealthy {
			unhealthy = append(unhealthy, scenario.ID(o)+": "+string(h.Status)+": "+h.Message)
		}
	}
	return unhealthy, nil
}
