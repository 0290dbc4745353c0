import { within } from "../../../src/core/ports/process.ts";
import { faultText } from "../../base/run-error.ts";
import { readClaimsFile } from "../claims-file.ts";
import { readFiles } from "../git/objects.ts";
import type { CheckedClaim } from "../publish/checked-claim.ts";
import { type HostedRepository, repositoryAt } from "../publish/hosted-pages.ts";
import { isSafePath } from "../tree/names.ts";
import type { OpenContext, RunContext, RunnerTurn } from "../turn.ts";
import type { TurnTree } from "./open-tree.ts";

/** For what is read of all repositories together, because other turns wait for the mirrors. */
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
 * Takes a limited time. Rejects with a `TurnFailedError` if the claims or files are too much to
 * read, and if aborted.
 */
export async function checkClaims(
  { folders, commit }: TurnTree,
  contexts: readonly OpenContext[],
  { project }: RunnerTurn,
  context: RunContext,
): Promise<CheckedClaim[] | null> {
  const { signal, logger, redact, clock, apart } = context;
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

  const content = await inTime(readClaimsFile(folders.tmp));
  const claims = content && (await apart.read("parseClaims", content));
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
    const hosted = repository?.hosted ?? null;
    const found = await apart.read("checkSources", {
      claims: its,
      files: files ?? new Map(),
      commit: repository?.commit ?? "",
      at: codeHost && hosted && { codeHost, hosted },
      isPublic,
    });
    checked.push(...found);
  }
  return checked;
}
