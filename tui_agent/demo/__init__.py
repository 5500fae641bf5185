"""The demo: a small project with failing tests and a recorded model that repairs it, through everything real."""
