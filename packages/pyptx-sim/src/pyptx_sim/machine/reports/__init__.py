"""Reports at the end of a wave: deadlocks and unawaited operations."""
