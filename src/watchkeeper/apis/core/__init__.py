"""The core group."""
