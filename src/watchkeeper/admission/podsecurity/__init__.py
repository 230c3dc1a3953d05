"""PodSecurity: the Pod Security Standards, enforced as the labels of a namespace say.

`level` reads the labels, `baseline` and `restricted` hold the checks, `standards` which of them a version has, `plugin`
is the admission plugin.
"""
