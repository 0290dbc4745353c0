/** What HFS+ leaves out of a name before it compares it with another. */
// oxlint-disable-next-line no-misleading-character-class
const IGNORABLE = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;
/** What NTFS ignores: a stream, and dots and spaces at the end. Found in one pass. */
const IGNORED_END = /(?::.*|(?<![. ])[. ]+)$/s;
/** The short forms that NTFS gives to `.git` and the names of its files. */
const SHORT_NAME = /^gi\w*~\d/;

/** Linux takes 4096 bytes, with the folders that ours are in. */
const MAX_PATH_BYTES = 3000;
/** Hardly any file system takes more. */
const MAX_NAME_BYTES = 255;

/**
 * True if git and we can use the path: the system can hold it, it doesn't leave the folder, and git
 * doesn't take it for its own on any system.
 */
export function isSafePath(path: string): boolean {
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) return false;
  // oxlint-disable-next-line no-control-regex
  if (path === "" || path.startsWith("/") || /[\u0000-\u001f\u007f\\\ufffd]/.test(path)) return false;
  return path.split("/").every((part) => {
    if (Buffer.byteLength(part) > MAX_NAME_BYTES) return false;
    const name = nameAnywhere(part);
    return part !== "" && part !== "." && part !== ".." && name !== ".git" && !SHORT_NAME.test(name);
  });
}

/** The folders that a path is in: `a` and `a/b` for `a/b/c`. */
export function parentsOf(path: string): string[] {
  const parts = path.split("/");
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join("/"));
}

/** Maps all names that some file system treats as the same to one. */
export function foldedName(name: string): string {
  return name.replaceAll(IGNORABLE, "").normalize("NFC").toUpperCase().toLowerCase();
}

/** The folded name of what a file system may open in place of this name. */
export function nameAnywhere(part: string): string {
  let name = foldedName(part);
  while (IGNORED_END.test(name) && name !== "." && name !== "..") name = name.replace(IGNORED_END, "");
  return name;
}
/** Names of devices on Windows, with any extension. */
const DEVICE = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(?:\.|$)/i;
const NOT_ON_WINDOWS = /[<>:"|?*\\]|[. ]$/;
/** These are invisible, and some reverse the text beside them. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

/** True if every system can store a file with this path, and people see what it is called. */
export function isPortable(path: string): boolean {
  return path
    .split("/")
    .every(
      (name) =>
        !DEVICE.test(name) &&
        !NOT_ON_WINDOWS.test(name) &&
        !UNSEEN.test(name) &&
        Buffer.byteLength(name) <= MAX_NAME_BYTES,
    );
}
