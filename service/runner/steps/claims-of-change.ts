import type { ChangedText } from "../claims/claims-in-change.ts";
import type { Claim } from "../claims/parse-claims.ts";
import { GitError } from "../git/git-fault.ts";
import { changedEntries, inBatches, readObjects, sizesOf } from "../git/objects.ts";
import { faultText, TurnFailedError } from "../../base/run-error.ts";
import type { RunContext } from "../turn.ts";

/** A page may have so many, before and after the change. Larger files are data. */
const MAX_PAGE_BYTES = 24 * 1024 ** 2;
const BATCH_BYTES = 48 * 1024 ** 2;
/** Of all pages that claims are about. */
const MAX_ALL_BYTES = 128 * 1024 ** 2;

type Stated = Pick<Claim, "page" | "statement">;
type Change = { from: string; to: string };

/**
 * Those of the claims that the change between two commits makes: their page is in it, and their
 * words are in lines that it adds. Null if that can't be read. Rejects only if aborted, and if no
 * reader can be started.
 */
export async function claimsOfChange<One extends Stated>(
  claims: readonly One[],
  change: Change,
  context: RunContext,
): Promise<One[] | null> {
  try {
    return await madeBy(claims, change, context);
  } catch (error) {
    context.signal.throwIfAborted();
    if (!(error instanceof GitError || error instanceof TurnFailedError)) throw error;
    context.logger.warn(
      { problem: context.redact(faultText(error)) },
      "the agent's claims can't be compared",
    );
    return null;
  }
}

async function madeBy<One extends Stated>(
  claims: readonly One[],
  { from, to }: Change,
  { mirror, apart }: RunContext,
): Promise<One[]> {
  if (claims.length === 0) return [];
  const pages = await mirror.use(async (git) => {
    const named = new Set(claims.map(({ page }) => page));
    const files = (await changedEntries(git, from, to)).flatMap(({ path, was, is }) =>
      is !== null && named.has(path) ? [{ path, was, is }] : [],
    );
    const sizes = await sizesOf(
      git,
      files.flatMap(({ was, is }) => (was === null ? [is] : [is, was])),
    );
    const sizeOf = (oid: string | null) => (oid === null ? 0 : (sizes.get(oid) ?? Infinity));
    let room = MAX_ALL_BYTES;
    return files.flatMap((file) => {
      const bytes = sizeOf(file.is) + sizeOf(file.was);
      if (bytes > MAX_PAGE_BYTES || bytes > room) return [];
      room -= bytes;
      return [{ ...file, bytes }];
    });
  });
  const made = new Set<One>();
  for (const batch of inBatches(pages, BATCH_BYTES)) {
    const oids = batch.flatMap(({ was, is }) => (was === null ? [is] : [is, was]));
    const contents = await mirror.use((git) => readObjects(git, oids));
    const texts = new Map<string, ChangedText>();
    let at = 0;
    for (const { path, was } of batch) {
      const after = contents[at++] ?? Buffer.alloc(0);
      texts.set(path, { after, before: was === null ? null : (contents[at++] ?? null) });
    }
    const its = claims.filter(({ page }) => texts.has(page));
    const asked = its.map(({ page, statement }) => ({ page, statement }));
    const isMade = await apart.read("claimsInChange", { claims: asked, pages: texts });
    for (const [index, claim] of its.entries()) if (isMade[index] === true) made.add(claim);
  }
  return claims.filter((claim) => made.has(claim));
}
