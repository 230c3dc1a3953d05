"""A control plane for game servers: two kinds, and a controller that keeps fleets of servers at their size."""
