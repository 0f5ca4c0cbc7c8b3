package tutorial

// ArgoCD is what an installed Argo CD has of all that deploy/argocd changes.
const ArgoCD = `
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cm, namespace: argocd, labels: {app.kubernetes.io/part-of: argocd}}
data: {url: "https://argocd.example.com"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: argocd-repo-server, namespace: argocd}
spec:
  replicas: 0
  selector: {matchLabels: {app.kubernetes.io/name: argocd-repo-server}}
  template:
    metadata: {labels: {app.kubernetes.io/name: argocd-repo-server}}
    spec:
      containers:
      - {name: argocd-repo-server, image: argocd, volumeMounts: [{name: plugins, mountPath: /home/argocd/cmp-server/plugins}]}
      initContainers:
      - {name: copyutil, image: argocd, volumeMounts: [{name: var-files, mountPath: /var/run/argocd}]}
      volumes:
      - {name: var-files, emptyDir: {}}
      - {name: plugins, emptyDir: {}}
`
