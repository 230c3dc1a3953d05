"""Role-based access control: rules, who they are bound to, and what one may grant to others."""
