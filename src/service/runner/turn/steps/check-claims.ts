import type { LocatedClaim, SourceFile } from "../claims/check-sources.ts";
import type { GitRunner } from "../../workspace/git/git.ts";
import { type LocatedFile, locateFiles } from "./locate-files.ts";
import type { Claim } from "../claims/parse-claims.ts";
import { isProse, type SourcePlace, sourcePlace, type SeenAt } from "../claims/source-place.ts";
import { createTimeLimit, type TimeLimit } from "./time-limit.ts";
import { DOCS_NAME, readClaimsFile, REQUEST_NAME } from "../../claims-file.ts";
import {
  type ChangedEntry,
  changedEntries,
  inBatches,
  readObjectsById,
  readSnapshot,
  sizesOf,
  type Snapshot,
} from "../../workspace/git/objects.ts";
import type { CheckedClaim } from "../../publish/checked-claim.ts";
import { type HostedRepository, repositoryAt } from "../../publish/hosted-pages.ts";
import { createIsDoc, createIsShown } from "../../workspace/tree/select-changes.ts";
import type { OpenContext, TurnContext, RunnerTurn } from "../../turn-context.ts";
import { claimsOfChange, ifComparable } from "./claims-of-change.ts";
import type { TurnTree } from "./open-tree.ts";

/** For all that is read, because other turns wait for the mirrors. */
const TIME_LIMIT_MS = 60_000;
const MAX_FILE_BYTES = 50 * 1024 ** 2;
/** What git and a reader take at once. */
const BATCH_BYTES = 60 * 1024 ** 2;

/** What an agent did in a round. `base` is the commit that all of the job's changes start from. */
type Work = {
  tree: Pick<TurnTree, "folders" | "commit" | "start">;
  base: string;
  /** Null if it changed nothing. */
  commit: string | null;
  contexts: readonly OpenContext[];
  seenAt: SeenAt;
};

/** A repository that sources can be in. */
type Repository = Pick<OpenContext, "commit" | "mirror"> & {
  /** Null if it isn't at the project's code host. */
  hosted: HostedRepository | null;
  /** The listing of its commit, if it is known already. */
  listing: Snapshot | null;
  /** What a file's words come to for a claim about this page. */
  evidenceOf: (path: string, page: string) => LocatedClaim["evidence"];
  /** The job's changes in it. Null if they aren't known. */
  changed: readonly ChangedEntry[] | null;
};

/** `place` is where the agent's source is. Null if it is nowhere. */
type PlacedClaim = Claim & { place: SourcePlace | null };

/**
 * The agent's claims that are about the change, or all if there is none, and for each what its
 * source comes to. Sources are looked up as they were before the job's changes. Null if the agent
 * named none. Takes a limited time; what couldn't be read until then isn't checked. Rejects with a
 * `TurnFailedError` if the claims themselves are too much to read, and if aborted.
 */
export async function checkClaims(
  work: Work,
  turn: RunnerTurn,
  context: TurnContext,
): Promise<CheckedClaim[] | null> {
  const { tree, base, commit, seenAt } = work;
  const limit = createTimeLimit(TIME_LIMIT_MS, context);
  const content = await limit.inTime(readClaimsFile(tree.folders.tmp));
  const named = content && (await context.apart.read("parseClaims", content));
  if (named === null || named.length === 0) return null;
  const placed = named.map((claim) => placedClaim(claim, seenAt));
  const listing = context.mirror.use((git) => changedEntries(git, base, commit ?? tree.commit));
  const changed = await ifComparable(listing, context);
  const claims = commit === null ? placed : changed && (await claimsOfChange(placed, changed, context));
  const repositories = repositoriesOf(work, changed, turn, context);
  const checked: CheckedClaim[] = [];
  const byRepository = Map.groupBy(claims ?? placed, ({ place }) => place?.repository ?? "");
  for (const [name, its] of byRepository) {
    if (name === REQUEST_NAME) {
      checked.push(...(await checkSaid(its, turn, context)));
      continue;
    }
    const repository = repositories.get(name);
    const isMissing = repository === undefined && turn.project.context.some((each) => each.name === name);
    const found =
      repository === undefined || claims === null
        ? its.map((claim) => located(claim, isMissing || claims === null ? "unread" : "none"))
        : await locate(repository, its, limit);
    checked.push(...(await checkIn(name, repository ?? null, found, limit, turn, context)));
  }
  return checked;
}

function placedClaim(claim: Claim, seenAt: SeenAt): PlacedClaim {
  const page = sourcePlace({ repository: DOCS_NAME, path: claim.page }, seenAt);
  const isSaid = claim.source.repository === REQUEST_NAME;
  const place = isSaid ? { repository: REQUEST_NAME, path: "" } : sourcePlace(claim.source, seenAt);
  return { ...claim, page: page?.path ?? claim.page, place };
}

/** Looks for quotes in what was said: the requests of the job so far, and what came with them. */
function checkSaid(
  claims: readonly PlacedClaim[],
  { prompt, earlierTurns }: RunnerTurn,
  { apart }: TurnContext,
): Promise<CheckedClaim[]> {
  const content = Buffer.from([...earlierTurns.map((turn) => turn.prompt), prompt].join("\n\n"));
  return apart.read("checkSources", {
    // Of what was said, no place is named.
    claims: claims.map((claim) => located({ ...claim, source: { ...claim.source, path: "" } }, "request")),
    files: new Map([["", { content }]]),
    commit: "",
    at: null,
    isPublic: true,
  });
}

function repositoriesOf(
  { tree, base, contexts }: Work,
  changed: readonly ChangedEntry[] | null,
  { project }: RunnerTurn,
  { mirror }: TurnContext,
): Map<string, Repository> {
  const codeHost = project.codeHost.kind === "none" ? null : project.codeHost;
  const isDoc = createIsDoc(project.docs);
  const docs: Repository = {
    commit: base,
    mirror,
    hosted: codeHost,
    listing: base === tree.commit ? tree.start.snapshot : null,
    evidenceOf: (path, page) => (path === page ? "none" : isDoc(path) && isProse(path) ? "page" : "code"),
    changed,
  };
  const others = contexts.map(({ name, repository, paths, ...each }): [string, Repository] => {
    // The agent can't have read the others.
    const isShown = createIsShown(paths);
    const evidenceOf = (path: string) => (isShown(path) ? ("code" as const) : ("none" as const));
    const hosted = codeHost && repositoryAt(codeHost, repository);
    return [name, { ...each, hosted, listing: null, evidenceOf, changed: [] }];
  });
  return new Map([[DOCS_NAME, docs], ...others]);
}

/** `file` is the one that the source's path leads to. */
type FoundClaim = LocatedClaim & { file: LocatedFile | null };

function located(
  { page, statement, source, converted, place }: PlacedClaim,
  evidence: LocatedClaim["evidence"],
  file: LocatedFile | null = null,
): FoundClaim {
  return {
    page,
    statement,
    source,
    converted,
    path: file?.path ?? place?.path ?? source.path,
    evidence,
    file,
  };
}

async function locate(
  { mirror, commit, listing, evidenceOf }: Repository,
  claims: readonly PlacedClaim[],
  limit: TimeLimit,
): Promise<FoundClaim[]> {
  const paths = claims.flatMap(({ place }) => place?.path ?? []);
  const files = await limit.inMirror(mirror, async (git) =>
    locateFiles(git, listing ?? (await readSnapshot(git, commit)), paths),
  );
  return claims.map((claim) => {
    if (files === null) return located(claim, "unread");
    const file = files.get(claim.place?.path ?? "");
    if (file === undefined) return located(claim, "none");
    return located(claim, evidenceOf(file.path, claim.page), file);
  });
}

const NO_FILES: ReadonlyMap<string, SourceFile> = new Map();

/** Reads the files, some at a time, and has the quotes looked for in them. */
async function checkIn(
  name: string,
  repository: Repository | null,
  claims: readonly FoundClaim[],
  limit: TimeLimit,
  { project: { codeHost } }: RunnerTurn,
  { apart, codeHost: host, signal }: TurnContext,
): Promise<CheckedClaim[]> {
  const hosted = repository?.hosted ?? null;
  const asking = name === DOCS_NAME || (hosted !== null && host?.isPublic(signal, hosted));
  const isPublic = (await limit.inTime(Promise.resolve(asking))) === true;
  const check = (its: readonly FoundClaim[], files = NO_FILES) =>
    apart.read("checkSources", {
      claims: its,
      files,
      commit: repository?.commit ?? "",
      at: codeHost.kind === "none" || hosted === null ? null : { codeHost, hosted },
      isPublic,
    });

  const checked: CheckedClaim[] = [];
  let rest = claims;
  for (const batch of await batchesOf(repository, claims, limit)) {
    const paths = new Set(batch.map(({ path }) => path));
    const its = rest.filter(({ path, evidence }) => evidence !== "none" && paths.has(path));
    rest = rest.filter((claim) => !its.includes(claim));
    const files = repository && (await limit.inMirror(repository.mirror, (git) => readSources(git, batch)));
    const found = files && (await limit.inTime(check(its, files)));
    checked.push(...(found ?? (await check(its))));
  }
  return [...checked, ...(await check(rest))];
}

/** A file to read, and what becomes of it: null if it is removed, and absent if it stays. */
type WantedFile = LocatedFile & { after: string | null | undefined; bytes: number };

async function batchesOf(
  repository: Repository | null,
  claims: readonly FoundClaim[],
  limit: TimeLimit,
): Promise<WantedFile[][]> {
  const wanted = new Map(
    claims.flatMap(({ file, evidence }) =>
      file === null || evidence === "none" ? [] : [[file.path, file] as const],
    ),
  );
  // Without the changes, nobody knows which words stay.
  if (repository === null || repository.changed === null || wanted.size === 0) return [];
  const changed = new Map(repository.changed.map(({ path, is }) => [path, is]));
  const files = [...wanted.values()].map((file) => ({ ...file, after: changed.get(file.path) }));
  const oids = files.flatMap(({ oid, after }) => [oid, after ?? []].flat());
  const sizes = await limit.inMirror(repository.mirror, (git) => sizesOf(git, oids));
  const sizeOf = (oid: string | null | undefined) => (oid ? (sizes?.get(oid) ?? Infinity) : 0);
  const sized = files.map((file) => ({ ...file, bytes: sizeOf(file.oid) + sizeOf(file.after) }));
  return inBatches(
    sized.filter(({ oid, bytes }) => sizeOf(oid) <= MAX_FILE_BYTES && bytes <= BATCH_BYTES),
    BATCH_BYTES,
  );
}

async function readSources(git: GitRunner, batch: readonly WantedFile[]): Promise<Map<string, SourceFile>> {
  const oids = batch.flatMap(({ oid, after }) => [oid, after ?? []].flat());
  const contents = await readObjectsById(git, oids);
  const contentOf = (oid: string) => contents.get(oid) ?? Buffer.alloc(0);
  return new Map(
    batch.map(({ path, oid, after }) => {
      const file: SourceFile = { content: contentOf(oid) };
      if (after !== undefined) file.after = after === null ? null : contentOf(after);
      return [path, file];
    }),
  );
}
