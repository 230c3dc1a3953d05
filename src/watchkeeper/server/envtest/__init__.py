"""Stands in for the programs that controller-runtime's envtest starts: `kube-apiserver`, `etcd` and `kubectl`.

`assets` writes executables of these names into a directory for $KUBEBUILDER_ASSETS. What they run is `kube_apiserver`,
a server that takes kube-apiserver's flags, and `etcd`, which holds a directory and answers health checks: it speaks no
protocol of etcd. The server asks it where the directory is (`store`) and keeps its objects there in a SQLite file, so
that they outlive the server, as they would in an etcd. Both end with the process that has started them (`parent`).
"""
