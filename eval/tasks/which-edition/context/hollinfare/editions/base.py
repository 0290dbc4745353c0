from dataclasses import dataclass

MB = 1024 * 1024
GB = 1024 * MB


@dataclass(frozen=True)
class Limits:
    attachment_bytes: int
    files_per_ticket: int = 40
    name_length: int = 180
    preview_pages: int = 30
