import { changedPaths, textOf } from "../files.ts";
import { blocksOf, isPage, localeOf } from "../page/blocks.ts";
import { isSame, quantitiesIn } from "../page/quantities.ts";
import { codeTokens } from "../page/tokens.ts";
import { missingTokens } from "../../src/service/runner/turn/claims/missing-tokens.ts";
import { listed, type NamedSource, type Problem, type Solved } from "./solved.ts";

const spaced = (text: string) => text.replace(/\s+/g, " ").trim();

/** True if a source's words stand where it says, as it was before. */
export function isFound(
  { repository, path, quote }: NamedSource,
  { before, contexts, told }: Solved,
): boolean {
  const words = spaced(quote);
  if (words.length < 4) return false;
  if (repository === "request") return spaced(told).includes(words);
  const files = repository === "docs" ? before : contexts.get(repository);
  const clean = path.replace(/^\.\//, "").replace(/(?::\d+|#L\d+(?:-L\d+)?)$/, "");
  const text = textOf(files?.get(clean));
  return text !== null && spaced(text).includes(words);
}

/**
 * If the agent named sources: each of them is found, each number, flag and name of code of a
 * statement stands in its quote or is marked as converted, and the statements have those of them
 * that the change brings.
 */
export function sourcesProblem(solved: Solved): Problem {
  const { before, after, claims } = solved;
  if (claims === null || claims.length === 0) return null;
  const faults = claims.flatMap((claim) => {
    if (!isFound(claim.source, solved)) return [`nothing says "${claim.statement}"`];
    if (claim.converted) return [];
    return missingTokens(claim.statement, claim.source.quote).map(
      (token) => `the source of "${claim.statement}" doesn't have ${token}`,
    );
  });
  const statements = claims.map(({ statement }) => statement).join("\n");
  const stated = quantitiesIn(statements);
  const uncovered = changedPaths(before, after)
    .filter((path) => isPage(path) && after.has(path))
    .flatMap((path) => {
      const [old, now] = [before, after].map((files) => blocksOf(path, textOf(files.get(path)) ?? ""));
      const known = new Set(old?.flatMap(codeTokens));
      const numbers = (old ?? []).flatMap(({ visible }) => quantitiesIn(visible, localeOf(path)));
      const brought = (now ?? []).flatMap(({ visible }) => quantitiesIn(visible, localeOf(path)));
      return [
        ...(now ?? [])
          .flatMap(codeTokens)
          .filter((name) => isFlag(name) && !known.has(name) && !statements.includes(name)),
        ...brought
          .filter((number) => ![...numbers, ...stated].some((other) => isSame(number, other)))
          .map(({ text }) => text),
      ].map((token) => `${path}: no source for ${token}`);
    });
  return listed("Sources:", [...faults, ...new Set(uncovered)]);
}

const isFlag = (name: string) => /^--|^[A-Z\d]+(?:_[A-Z\d]+)+$/.test(name);
