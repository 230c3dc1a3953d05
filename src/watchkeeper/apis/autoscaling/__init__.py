"""Horizontal pod autoscalers: one stored object, seen as autoscaling/v1 and autoscaling/v2."""
