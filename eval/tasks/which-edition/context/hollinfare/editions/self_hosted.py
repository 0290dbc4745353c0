from .base import GB, Limits

# Since the new uploader.
LIMITS = Limits(attachment_bytes=2 * GB)
