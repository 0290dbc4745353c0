"""The command line of the proxy."""

import argparse

from quernflow.durations import duration


def serve_options(serve: argparse.ArgumentParser) -> None:
    serve.add_argument("--listen", default=":8080", metavar="ADDRESS")
    serve.add_argument("--to", required=True, metavar="URL")
    serve.add_argument("--connect", type=duration, default="10s", metavar="TIME")
    serve.add_argument("--idle", type=duration, default="60s", metavar="TIME")
    # Uploads of our customers were cut off after ten seconds.
    serve.add_argument("--drain", type=duration, default="30s", metavar="TIME")
    serve.add_argument(
        "--max-streams",
        type=int,
        default=100,
        metavar="NUMBER",
        help="HTTP/2 streams on one connection; further ones are refused until one ends",
    )
    serve.add_argument("--admin", default="localhost:9901", metavar="ADDRESS")
