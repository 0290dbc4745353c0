from v2.uploads import MAX_UPLOAD_BYTES, PART_BYTES
