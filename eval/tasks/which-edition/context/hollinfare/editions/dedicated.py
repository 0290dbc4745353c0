from .base import MB, Limits

# Since the new uploader.
LIMITS = Limits(attachment_bytes=400 * MB)
