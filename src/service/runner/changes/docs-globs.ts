import picomatch from "picomatch";
import { isSafePath, nameAnywhere } from "../git/safe-path.ts";

/** Files that steer git itself; never documentation, whatever the globs say. */
const NEVER = new Set([".gitmodules", ".gitattributes", ".gitignore"]);

/**
 * Tells which paths count as documentation. A path counts if a glob matches it. Names that start with a dot match only where the glob spells the dot (`.github/**\/*.md`). Git's own files never count.
 */
export function createIsDoc(globs: readonly string[]): (path: string) => boolean {
  // strictSlashes: `docs/**` is what lies in docs, not a file of that name.
  const options = { dot: false, nonegate: true, windows: false, strictSlashes: true } as const;
  const isWanted = picomatch([...globs], options);
  return (path) =>
    isSafePath(path) && isWanted(path) && !path.split("/").some((name) => NEVER.has(nameAnywhere(name)));
}
