"""What becomes of definitions: names accepted, established, served, and their instances deleted before they go."""
