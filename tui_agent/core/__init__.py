"""The agent itself: frozen values and plain functions, standard library only."""
