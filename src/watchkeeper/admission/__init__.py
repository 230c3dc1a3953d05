"""Admission: what may change or refuse a write between decoding and storage."""
