"""ValidatingAdmissionPolicies and MutatingAdmissionPolicies: rules in CEL that decide over requests.

`policies.Policies` holds what is stored; `validating.ValidatingPolicies` and `mutating.MutatingPolicies` are the
plugins.
"""
