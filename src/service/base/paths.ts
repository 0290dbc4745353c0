import { isAbsolute, relative, resolve, sep } from "node:path";

/** True if `path`, absolute or relative to `root`, is inside `root` judging by its name alone. */
export function isInside(root: string, path: string): boolean {
  return isWithin(root, path) && resolve(root, path) !== resolve(root);
}

/** Like {@link isInside}, and also true for `root` itself. */
export function isWithin(root: string, path: string): boolean {
  const rest = relative(root, resolve(root, path));
  return rest !== ".." && !rest.startsWith(`..${sep}`) && !isAbsolute(rest);
}
