"""Requests that kubelets, Pods and whoever listens on nodes answer: passed on to them, as kube-apiserver does.

All of it is loaded with the first such request.
"""
