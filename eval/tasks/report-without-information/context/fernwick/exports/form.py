COLUMNS = ["number", "date", "net", "tax", "currency"]
KEEP_DAYS = 14
MAX_INVOICES = 50_000
