"""The audit log: who did what and when, as audit.k8s.io/v1 Events, one per line and stage.

`policy` says which requests are told of and how much, `event` puts together what is told, `log` writes it down.
"""
