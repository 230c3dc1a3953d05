"""Authorization: who may do what. The contract, roles and bindings (RBAC), and the questions clients ask about it."""
