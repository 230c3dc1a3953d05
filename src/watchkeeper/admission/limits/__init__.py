"""LimitRanger: what containers, Pods and claims in a namespace may ask for, and what they get when they do not ask."""
