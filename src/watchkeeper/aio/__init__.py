"""What every layer needs of asyncio: a clock, owned tasks, bounded mailboxes, backoff, a worker thread."""
