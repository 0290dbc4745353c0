/**
 * Returns true if the text can name an owner or a repository. It must be a single path segment that
 * isn't special to a file system or a shell.
 */
export function isName(text: string): boolean {
  return /^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$/.test(text) && !/\.(?:git|lock)$|\.\./i.test(text);
}

/**
 * Returns true if git accepts the text as a branch's name, like `git check-ref-format --branch`.
 */
export function isBranchName(text: string): boolean {
  if (text.length === 0 || text.length > 250) return false;
  // eslint-disable-next-line no-control-regex -- control characters are what git forbids
  if (/[\u0000-\u0020\u007f~^:?*[\\]|\.\.|@\{|\/\/|\/\.|\.lock(?:\/|$)/.test(text)) return false;
  return !/^[-./]|[./]$/.test(text) && text !== "@" && text !== "HEAD";
}
