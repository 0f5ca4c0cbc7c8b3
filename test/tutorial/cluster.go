package tutorial

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"os/exec"
	"strings"
)

// Namespace is where the storage of the tutorials is.
const Namespace = "openebs"

// Cluster is the cluster of the tutorials. It is a real API server; of the machines
// behind it this type plays what the reader's cluster has: nodes, the node disk
// manager, and the operators of cStor.
type Cluster struct {
	Kubeconfig string
	Kubectl    string // the program
}

// Namespace makes a namespace.
func (c Cluster) Namespace(name string) error {
	return c.apply("kubectl", object{"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": name}})
}

// Manifests applies YAML documents.
func (c Cluster) Manifests(text string) error {
	return c.run(strings.NewReader(text), nil, "apply", "--server-side", "-f", "-")
}

// Annotation reads an annotation, "" if there is none.
func (c Cluster) Annotation(kind, namespace, name, key string) (string, error) {
	var o struct {
		Metadata struct{ Annotations map[string]string }
	}
	err := c.kubectl(nil, &o, "get", kind, "-n", namespace, name, "-o", "json")
	return o.Metadata.Annotations[key], err
}

// Join adds nodes, labelled for storage, with two disks of 4 TB each.
func (c Cluster) Join(names ...string) error {
	for _, name := range names {
		node := object{
			"apiVersion": "v1", "kind": "Node",
			"metadata": object{"name": name, "labels": object{
				"kubernetes.io/hostname": name, "storage.example.com/pool": "cstor",
			}},
		}
		if err := c.apply("kubelet", node); err != nil {
			return err
		}
		node["status"] = object{"conditions": []any{object{
			"type": "Ready", "status": "True", "reason": "KubeletReady", "lastTransitionTime": "2026-01-05T08:00:00Z",
		}}}
		if err := c.apply("kubelet", node, "--subresource=status"); err != nil {
			return err
		}
		for i := range 2 {
			if err := c.apply("ndm", disk(name, i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// disk is what the node disk manager reports of one.
func disk(node string, i int) object {
	id := fnv.New64a()
	fmt.Fprintf(id, "%s/%d", node, i)
	serial := fmt.Sprintf("%016X", id.Sum64())
	return object{
		"apiVersion": "openebs.io/v1alpha1", "kind": "BlockDevice",
		"metadata": object{
			"name": fmt.Sprintf("blockdevice-%s-%d", node, i), "namespace": Namespace,
			"labels": object{"kubernetes.io/hostname": node, "ndm.io/managed": "true", "ndm.io/blockdevice-type": "blockdevice"},
		},
		"spec": object{
			"capacity":   object{"storage": 4000787030016, "logicalSectorSize": 512, "physicalSectorSize": 4096},
			"details":    object{"deviceType": "disk", "driveType": "HDD", "model": "ST4000NM000A-2HZ", "serial": serial, "vendor": "SEAGATE"},
			"devlinks":   []any{object{"kind": "by-id", "links": []any{"/dev/disk/by-id/ata-ST4000NM000A-2HZ_" + serial}}},
			"filesystem": object{}, "nodeAttributes": object{"nodeName": node}, "partitioned": "No",
			"path": fmt.Sprintf("/dev/sd%c", 'b'+i),
		},
		"status": object{"state": "Active", "claimState": "Unclaimed"},
	}
}

// Operate does what the operators of cStor do with the pool clusters that there are,
// once: claim the disks, make the pools, and report them.
func (c Cluster) Operate() error {
	var clusters struct {
		Items []struct {
			Metadata struct{ Name, Namespace, UID string }
			Spec     struct {
				Pools []struct {
					NodeSelector   map[string]string
					DataRaidGroups []struct {
						BlockDevices []struct{ BlockDeviceName string }
					}
					PoolConfig object
				}
			}
		}
	}
	if err := c.kubectl(nil, &clusters, "get", "cspc", "-A", "-o", "json"); err != nil {
		return err
	}
	for _, cluster := range clusters.Items {
		name, namespace := cluster.Metadata.Name, cluster.Metadata.Namespace
		owned := func(kind, apiVersion, name string, fields object) object {
			fields["apiVersion"], fields["kind"] = apiVersion, kind
			fields["metadata"] = object{
				"name": name, "namespace": namespace,
				"labels": object{"openebs.io/cstor-pool-cluster": cluster.Metadata.Name},
				"ownerReferences": []any{object{
					"apiVersion": "cstor.openebs.io/v1", "kind": "CStorPoolCluster", "name": cluster.Metadata.Name, "uid": cluster.Metadata.UID,
				}},
			}
			return fields
		}
		for _, pool := range cluster.Spec.Pools {
			host := pool.NodeSelector["kubernetes.io/hostname"]
			var groups []any
			for _, group := range pool.DataRaidGroups {
				var devices []any
				for _, device := range group.BlockDevices {
					if err := c.claim(device.BlockDeviceName, namespace, host, owned); err != nil {
						return err
					}
					devices = append(devices, object{"blockDeviceName": device.BlockDeviceName})
				}
				groups = append(groups, object{"blockDevices": devices})
			}
			instance := owned("CStorPoolInstance", "cstor.openebs.io/v1", name+"-"+suffix(host), object{
				"spec": object{
					"hostName": host, "nodeSelector": object{"kubernetes.io/hostname": host},
					"dataRaidGroups": groups, "poolConfig": pool.PoolConfig,
				},
				"status": object{
					"phase": "ONLINE", "readOnly": false, "healthyReplicas": 0, "provisionedReplicas": 0,
					"capacity": object{"total": "3600Gi", "free": "3600Gi", "used": "0", "zfs": object{"logicalUsed": "0"}},
				},
			})
			instance["metadata"].(object)["labels"].(object)["kubernetes.io/hostname"] = host
			if err := c.apply("cspc-operator", instance); err != nil {
				return err
			}
		}
		count := len(cluster.Spec.Pools)
		status, err := json.Marshal(object{"status": object{"desiredInstances": count, "provisionedInstances": count, "healthyInstances": count}})
		if err != nil {
			return err
		}
		if err := c.kubectl(nil, nil, "patch", "cspc", name, "-n", namespace, "--type=merge", "-p", string(status)); err != nil {
			return err
		}
	}
	return nil
}

// claim makes a disk one of a pool cluster.
func (c Cluster) claim(device, namespace, host string, owned func(kind, apiVersion, name string, fields object) object) error {
	var live struct{ Metadata struct{ UID string } }
	if err := c.kubectl(nil, &live, "get", "blockdevice", "-n", namespace, device, "-o", "json"); err != nil {
		return err
	}
	claim := owned("BlockDeviceClaim", "openebs.io/v1alpha1", "bdc-cstor-"+live.Metadata.UID, object{
		"spec": object{
			"blockDeviceName": device, "blockDeviceNodeAttributes": object{"hostName": host},
			"resources": object{"requests": object{"storage": "4000787030016"}},
		},
		"status": object{"phase": "Bound"},
	})
	if err := c.apply("cspc-operator", claim); err != nil {
		return err
	}
	return c.apply("ndm-claims", object{
		"apiVersion": "openebs.io/v1alpha1", "kind": "BlockDevice",
		"metadata": object{"name": device, "namespace": namespace},
		"spec": object{"claimRef": object{
			"apiVersion": "openebs.io/v1alpha1", "kind": "BlockDeviceClaim", "name": "bdc-cstor-" + live.Metadata.UID, "namespace": namespace,
		}},
		"status": object{"state": "Active", "claimState": "Claimed"},
	})
}

// suffix is the four letters that the operator gives a pool; here always the same.
func suffix(host string) string {
	h := fnv.New32a()
	h.Write([]byte(host))
	return fmt.Sprintf("%04x", h.Sum32()&0xffff)
}

type object = map[string]any

func (c Cluster) apply(manager string, o object, flags ...string) error {
	return c.kubectl(o, nil, append([]string{"apply", "--server-side", "--force-conflicts", "--field-manager", manager, "-f", "-"}, flags...)...)
}

// kubectl runs kubectl with an object as its input, and reads one from its output.
func (c Cluster) kubectl(in object, out any, args ...string) error {
	if in == nil {
		return c.run(nil, out, args...)
	}
	text, err := json.Marshal(in)
	if err != nil {
		return err
	}
	return c.run(bytes.NewReader(text), out, args...)
}

func (c Cluster) run(in io.Reader, out any, args ...string) error {
	cmd := exec.Command(c.Kubectl, append([]string{"--kubeconfig", c.Kubeconfig}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, stderr.String())
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(stdout.Bytes(), out)
}
