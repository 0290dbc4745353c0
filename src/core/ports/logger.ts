/**
 * Writes structured log lines: a static message, and everything that varies in `fields`. Neither
 * may hold a secret or a person's text.
 */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  /** Returns a logger that adds `fields` to each line. */
  child(fields: object): Logger;
}
