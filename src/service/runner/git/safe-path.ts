/** Whether git and we can use the path: nothing that leaves the folder, and nothing that git would take for its own. */
export function isSafePath(path: string): boolean {
  // oxlint-disable-next-line no-control-regex
  if (path === "" || path.startsWith("/") || /[\u0000-\u001f\u007f\\\ufffd]/.test(path)) return false;
  return path
    .split("/")
    .every((part) => part !== "" && part !== "." && part !== ".." && !/^\.git$|^git~\d/i.test(part));
}
