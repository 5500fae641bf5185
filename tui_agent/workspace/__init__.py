"""Everything that touches the person's disk and processes: paths, bytes, commits, receipts, commands."""
