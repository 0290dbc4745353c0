import { basename } from "node:path";
import { sentencesOf } from "../page/statements.ts";
import { isFound } from "./sources.ts";
import type { Problem, Solved } from "./solved.ts";

/** A source that an answer rests on: files of the repository or a context, or names in them. */
export type WantedSource = {
  isMeant: (path: string) => boolean;
  repository: string | null;
  as: RegExp | null;
};

/** A found source of the agent's is in one of these files, or its words name one of them. */
export function sourceProblem(solved: Solved, { isMeant, repository, as }: WantedSource): Problem {
  const { words, claims, before, contexts } = solved;
  const isClaimed = (claims ?? []).some(
    (claim) =>
      (repository === null || claim.source.repository === repository) &&
      isMeant(claim.source.path) &&
      isFound(claim.source, solved),
  );
  const files =
    repository === null || repository === "docs"
      ? before
      : (contexts.get(repository) ?? new Map<string, Buffer>());
  const isNamed = [...files.keys()].filter(isMeant).some((path) => words.includes(basename(path)));
  return isClaimed || isNamed || as?.test(words) === true ? null : "The agent doesn't say where it stands.";
}

const OPEN = new RegExp(
  [
    String.raw`\?`,
    String.raw`\b(?:which|whether|unclear|unknown|missing|decide[ds]?|settle|confirm|ambiguous|tell me)\b`,
    String.raw`\b(?:let me know|find out|depends)\b`,
    String.raw`\b(?:not|n't|cannot|nothing|nowhere|never|no file|no page)\b[^.]{0,40}` +
      String.raw`\b(?:says?|said|states?|stated|record|written|know|tell)`,
    String.raw`\b(?:not|n't|cannot)\b[^.]{0,40}\b(?:determin|identif|specif)`,
  ].join("|"),
  "i",
);

/** The agent asks about something, or says that it doesn't know it. */
export function asksProblem(words: string, about: RegExp): Problem {
  const paragraphs = words.split(/\n\s*\n/);
  const isAsked = paragraphs.some((paragraph) => {
    const sentences = sentencesOf(paragraph.replace(/\s+/g, " "));
    return sentences.some(
      (sentence, at) => OPEN.test(sentence) && about.test(`${sentences[at - 1] ?? ""} ${sentence}`),
    );
  });
  return isAsked ? null : "The agent doesn't ask about it.";
}
