"""What perchline.yaml may hold. Times are kept in milliseconds."""

from .fields import Address, Integer, Milliseconds

SCHEMA = {
    "listen": Address(default=":7070"),
    "connect_timeout": Milliseconds(default=10_000, at_least=500, at_most=30_000),
    "request_timeout": Milliseconds(default=45_000, at_least=1_000, at_most=60_000),
    "idle_timeout": Milliseconds(default=30_000, at_least=1_000, at_most=300_000),
    "max_attempts": Integer(default=8, at_least=1, at_most=20),
    "concurrency": Integer(default=4, at_least=1, at_most=64),
}
