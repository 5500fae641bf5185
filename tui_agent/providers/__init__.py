"""The only place that knows HTTP: neutral history to request body, bytes to deltas."""
