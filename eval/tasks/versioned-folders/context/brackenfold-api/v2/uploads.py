# Raised with the new storage.
MAX_UPLOAD_BYTES = 20 * 1000**3
PART_BYTES = 8 * 1000**2
