import { setImmediate } from "node:timers/promises";
import { within } from "../../../src/core/ports/clock.ts";
import { type Claim, readClaims } from "../claims-file.ts";
import type { Mirror } from "../git/mirror.ts";
import { oneLine } from "../printable-text.ts";
import { type HostedRepository, linesUrl, repositoryAt } from "../publish/source-address.ts";
import type { CheckedClaim } from "../publish/sources-text.ts";
import { faultText } from "../run-error.ts";
import type { TurnTree } from "./open-tree.ts";
import type { OpenContext, RunContext, RunnerTurn } from "../turn.ts";
import { findQuote, type Lines, readTexts } from "../claims/find-quotes.ts";

const READ_LIMIT_MS = 60_000;
const SEARCH_LIMIT_MS = 10_000;
/** How claims call the project's own repository. */
const DOCS = "docs";

/** A repository that sources can lie in, as it was when the turn began. */
type Repository = {
  commit: string;
  mirror: Mirror;
  /** What it is at the project's code host; null: it lies somewhere else. */
  hosted: HostedRepository | null;
};

/**
 * The agent's claims, each with whether its source says what it quotes; null: it made none. Takes a
 * bounded time, and rejects only when aborted.
 */
export async function checkClaims(
  { folders, commit }: TurnTree,
  contexts: readonly OpenContext[],
  { project }: RunnerTurn,
  context: RunContext,
): Promise<CheckedClaim[] | null> {
  const { codeHost } = project;
  const { signal, logger } = context;
  try {
    const claims = await readClaims(folders.tmp);
    if (claims === null || claims.length === 0) return null;
    const repositories = new Map<string, Repository>([
      [DOCS, { commit, mirror: context.mirror, hosted: codeHost }],
      ...contexts.map(({ name, ...each }) => {
        const hosted = codeHost && repositoryAt(codeHost, each.repository);
        return [name, { ...each, hosted }] as const;
      }),
    ]);
    return await checkAll(claims, repositories, project, context);
  } catch (error) {
    signal.throwIfAborted();
    logger.warn({ problem: context.redact(faultText(error)) }, "the agent's sources could not be read");
    return null;
  }
}

async function checkAll(
  claims: readonly Claim[],
  repositories: ReadonlyMap<string, Repository>,
  { codeHost }: RunnerTurn["project"],
  { clock, signal, logger, redact, codeHost: api }: RunContext,
): Promise<CheckedClaim[]> {
  const byName = Map.groupBy(claims, ({ source }) => source.repository);
  const read = await Promise.all(
    [...byName].map(async ([name, its]) => {
      const repository = repositories.get(name);
      if (repository === undefined) return null;
      const { mirror, commit, hosted } = repository;
      const paths = its.map(({ source }) => source.path);
      const reading = mirror.use((git) => readTexts(git, commit, paths, READ_LIMIT_MS));
      const asking = name === DOCS || hosted === null || api === null ? null : api.isPublic(signal, hosted);
      const orNull = (error: unknown) => {
        signal.throwIfAborted();
        logger.warn({ repository: name, problem: redact(faultText(error)) }, "a source could not be read");
        return null;
      };
      const [texts, isPublic] = await Promise.all([
        within(clock, READ_LIMIT_MS, reading.catch(orNull), null),
        within(clock, READ_LIMIT_MS, Promise.resolve(asking).catch(orNull), null),
      ]);
      return { ...repository, name, texts, isPublic: name === DOCS || isPublic === true };
    }),
  );
  const known = new Map(read.flatMap((each) => (each === null ? [] : [[each.name, each] as const])));
  const until = clock.monotonicMs() + SEARCH_LIMIT_MS;
  const checked: CheckedClaim[] = [];
  for (const claim of claims) {
    const { path, quote, line = null } = claim.source;
    const from = known.get(claim.source.repository);
    const text = from?.texts?.get(path);
    const isLate = clock.monotonicMs() > until;
    const lines = text === undefined || isLate ? null : findQuote(text, quote, line);
    const hosted = from?.hosted ?? null;
    const url =
      lines === null || from === undefined || hosted === null || codeHost === null
        ? null
        : linesUrl(codeHost, hosted, from.commit, { path, ...lines });
    checked.push(told(claim, { lines, url, isPublic: from?.isPublic ?? false }, redact));
    // A search takes a while in a large file, and other turns run beside this one.
    await setImmediate();
    signal.throwIfAborted();
  }
  return checked;
}

function told(
  { page, statement, source: { repository, path, line = null } }: Claim,
  { lines, url, isPublic }: { lines: Lines | null; url: string | null; isPublic: boolean },
  redact: RunContext["redact"],
): CheckedClaim {
  return {
    page: oneLine(redact(page), 200),
    statement: oneLine(redact(statement), 300),
    source: {
      repository: oneLine(redact(repository), 100),
      path: oneLine(redact(path), 200),
      line: lines?.from ?? line,
    },
    isFound: lines !== null,
    url: url === null || redact(url) !== url ? null : url,
    isPublic,
  };
}
