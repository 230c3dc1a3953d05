"""ResourceQuota: what the objects of a namespace may use together.

`evaluators.EvaluatorTable` knows what an object uses, `charge` decides what a request costs each quota, `ledger` writes
it down, `plugin.ResourceQuotas` is the admission plugin.
"""
