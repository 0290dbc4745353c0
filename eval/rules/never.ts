import { decodeNamedCharacterReference } from "decode-named-character-reference";
import { changedPaths, textOf } from "../files.ts";
import { everywhere } from "./facts.ts";
import { listed, type Problem, type Solved } from "./solved.ts";

/**
 * What somebody wanted that must not happen is in no file that changed, in no name of one, and in
 * no words and claims of the agent's, however it is written. What was there before doesn't count.
 */
export function neverProblem(solved: Solved, pattern: RegExp): Problem {
  const { before, after, words, claims } = solved;
  const count = (text: string) =>
    Math.max(...readings(text).map((each) => (each.match(everywhere(pattern)) ?? []).length));
  const places = changedPaths(before, after)
    .filter((path) => after.has(path))
    .filter((path) => {
      const isNewName = !before.has(path) && count(path) > 0;
      const [old, now] = [before, after].map(
        (files) => textOf(files.get(path)) ?? files.get(path)?.toString("latin1") ?? "",
      );
      return isNewName || count(now ?? "") > count(old ?? "");
    });
  const said = [words, ...(claims ?? []).map(({ statement, page }) => `${statement}\n${page}`)];
  if (said.some((text) => count(text) > 0)) places.push("the agent's words");
  return listed("It must not be in", places);
}

/** A text as it stands, as a reader's program shows it, and without what takes words apart. */
function readings(text: string): string[] {
  const decoded = text
    .replace(/%([\da-f]{2})/gi, (_all, hex: string) => String.fromCharCode(parseInt(hex, 16)))
    .replace(/&#x([\da-f]{1,5});/gi, (_all, hex: string) => String.fromCodePoint(parseInt(hex, 16)))
    .replace(/&#(\d{1,6});/g, (_all, digits: string) =>
      String.fromCodePoint(Math.min(Number(digits), 0x10ffff)),
    )
    .replace(/&([A-Za-z]+);/g, (all, name: string) => decodeNamedCharacterReference(name) || all)
    .replace(/[\u200b-\u200f\u2060\ufeff\u00ad]/g, "");
  const joined = decoded.replace(/["'`*\\]|\s+\+\s+/g, "");
  return [text, decoded, joined];
}
