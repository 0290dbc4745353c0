/**
 * Whether it can name an owner or a repository: one path segment that no file system or shell takes
 * for more.
 */
export function isName(text: string): boolean {
  return /^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$/.test(text) && !/\.(?:git|lock)$|\.\./i.test(text);
}

/** Whether git would take it for a branch's name, as `git check-ref-format --branch` says. */
export function isBranchName(text: string): boolean {
  if (text.length === 0 || text.length > 250) return false;
  // eslint-disable-next-line no-control-regex -- control characters are what git forbids
  if (/[\u0000-\u0020\u007f~^:?*[\\]|\.\.|@\{|\/\/|\/\.|\.lock(?:\/|$)/.test(text)) return false;
  return !/^[-./]|[./]$/.test(text) && text !== "@" && text !== "HEAD";
}
