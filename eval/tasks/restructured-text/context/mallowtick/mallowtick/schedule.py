"""Schedules."""

DEFAULTS = {
    "catch_up": "6h",
    "overlap": "skip",
    "retries": 2,
}
