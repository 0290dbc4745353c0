import { presetOfCheck } from "../../../config/check-presets.ts";
import type { CommandCheck } from "../../../config/check-settings.ts";

/** With more, a tool looks at the whole tree. */
const MAX_PATHS = 200;
const MAX_PATH_BYTES = 100 * 1024;
/** Characters that a path of ours can't be given with, such as those of names that aren't UTF-8. */
const UNSAFE = /^-|[\p{Cc}\uFFFD]/u;

/**
 * The check as it looks at what a change is about, if its preset knows how: at these pages, of
 * which `isThere` says which ones the tree has. Null if it reads none of them.
 */
export function checkOfPages(
  check: CommandCheck,
  paths: readonly string[],
  isThere: (path: string) => boolean,
): CommandCheck | null {
  const pages = presetOfCheck(check)?.pages;
  if (pages === undefined) return check;
  const folder = check.cwd === "." ? "" : `${check.cwd.replace(/^\.\/|\/+$/g, "")}/`;
  const inside = paths.filter((path) => path.startsWith(folder)).map((path) => path.slice(folder.length));
  const isTooMuch = inside.length > MAX_PATHS || Buffer.byteLength(inside.join("\0")) > MAX_PATH_BYTES;
  if (isTooMuch || inside.some((path) => UNSAFE.test(path))) return check;
  const { whole, before, prefix, endings } = pages;
  const read = inside.filter(
    (path) =>
      endings === null ||
      (isThere(`${folder}${path}`) && endings.some((ending) => path.toLowerCase().endsWith(ending))),
  );
  if (read.length === 0) return null;
  const command = check.command.slice(0, check.command.length - whole.length);
  return { ...check, command: [...command, ...before, ...read.map((path) => `${prefix}${path}`)] };
}
