import { setImmediate } from "node:timers/promises";
import { within } from "../../../src/core/ports/process.ts";
import { redactedLine } from "../../base/printable-text.ts";
import { faultText } from "../../base/run-error.ts";
import { readClaims } from "../claims-file.ts";
import { readFiles } from "../git/objects.ts";
import { type CheckedClaim, type HostedRepository, linesUrl, repositoryAt } from "../publish/sources-text.ts";
import { isSafePath } from "../tree/names.ts";
import type { OpenContext, RunContext, RunnerTurn } from "../turn.ts";
import type { TurnTree } from "./open-tree.ts";

/** For all claims together, because other turns wait for the mirrors, or run beside this one. */
const TIME_LIMIT_MS = 60_000;
/** The name of the project's own repository in claims. */
const DOCS = "docs";

/** A repository that sources can be in, as it was when the turn began. */
type Repository = Pick<OpenContext, "commit" | "mirror"> & {
  /** The repository at the project's code host. Null if it is somewhere else. */
  hosted: HostedRepository | null;
};

/**
 * The agent's claims, and for each whether its source says what it quotes. Null if it made none.
 * Takes a limited time, and rejects only if aborted.
 */
export async function checkClaims(
  { folders, commit }: TurnTree,
  contexts: readonly OpenContext[],
  { project }: RunnerTurn,
  context: RunContext,
): Promise<CheckedClaim[] | null> {
  const { signal, logger, redact, clock } = context;
  const codeHost = project.codeHost.kind === "none" ? null : project.codeHost;
  let untilMs = clock.monotonicMs() + TIME_LIMIT_MS;
  async function inTime<T>(asked: Promise<T>): Promise<T | null> {
    const known = asked.catch((error: unknown) => {
      signal.throwIfAborted();
      logger.warn({ problem: redact(faultText(error)) }, "the agent's sources could not be read");
      return null;
    });
    return within(clock, untilMs - clock.monotonicMs(), known, null);
  }

  const claims = await inTime(readClaims(folders.tmp));
  if (claims === null || claims.length === 0) return null;
  const repositories = new Map<string, Repository>([
    [DOCS, { commit, mirror: context.mirror, hosted: codeHost }],
    ...contexts.map(({ name, ...each }) => {
      const hosted = codeHost && repositoryAt(codeHost, each.repository);
      return [name, { ...each, hosted }] as const;
    }),
  ]);
  const checked: CheckedClaim[] = [];
  for (const [name, its] of Map.groupBy(claims, ({ source }) => source.repository)) {
    const repository = repositories.get(name);
    const paths = its.map(({ source }) => source.path).filter(isSafePath);
    const askedAtMs = clock.monotonicMs();
    const files = await repository?.mirror.use((git) => {
      // Another turn may have fetched for many minutes until now.
      untilMs += clock.monotonicMs() - askedAtMs;
      return inTime(readFiles(git, repository.commit, [...new Set(paths)]));
    });
    const asking =
      name === DOCS || (repository?.hosted && context.codeHost?.isPublic(signal, repository.hosted));
    const isPublic = (await inTime(Promise.resolve(asking))) === true;
    for (const claim of its) {
      const content = files?.get(claim.source.path);
      const { quote, line = null, path } = claim.source;
      const isText = content !== undefined && !content.includes(0) && clock.monotonicMs() < untilMs;
      const lines = isText ? findQuote(content.toString("utf8"), quote, line) : null;
      const url =
        lines && repository?.hosted && codeHost
          ? linesUrl(codeHost, repository.hosted, repository.commit, { path, ...lines })
          : null;
      // Redacted before it is cut, because half a secret is a secret, too.
      const shown = (text: string, max: number) => redactedLine(redact, text, max);
      checked.push({
        page: shown(claim.page, 200),
        statement: shown(claim.statement, 300),
        source: { repository: shown(name, 100), path: shown(path, 200), line: lines?.from ?? line },
        isFound: lines !== null,
        url: url === null || redact(url) !== url ? null : url,
        isPublic,
      });
      // A search in a large file takes a while.
      await setImmediate();
      signal.throwIfAborted();
    }
  }
  return checked;
}

/** Shorter texts can be found in many files. */
const MIN_QUOTE_LENGTH = 12;
const MAX_MATCHES = 1000;

/** The first and the last line of what was found, counted from 1. */
type Lines = { from: number; to: number };

/**
 * Finds a quote, whose words have single spaces between them, in a text with any white space. Of
 * several places, chooses the one nearest to the line `hint`. Null if it isn't there, or is too
 * short.
 */
function findQuote(text: string, quote: string, hint: number | null): Lines | null {
  if (quote.length < MIN_QUOTE_LENGTH) return null;
  const pattern = new RegExp(
    quote
      .split(" ")
      .map((word) => RegExp.escape(word))
      .join(String.raw`\s+`),
    "g",
  );
  let found: Lines | null = null;
  let [line, at, matches] = [1, 0, 0];
  for (const match of text.matchAll(pattern)) {
    line += lineFeeds(text.slice(at, match.index));
    at = match.index;
    const place = { from: line, to: line + lineFeeds(match[0]) };
    const distance = ({ from }: Lines) => Math.abs(from - (hint ?? 1));
    if (found === null || distance(place) < distance(found)) found = place;
    if ((matches += 1) === MAX_MATCHES) break;
  }
  return found;
}

function lineFeeds(text: string): number {
  return text.split("\n").length - 1;
}
