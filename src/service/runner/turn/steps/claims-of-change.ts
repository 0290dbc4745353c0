import type { ChangedText } from "../claims/claims-in-change.ts";
import type { Claim } from "../claims/parse-claims.ts";
import { GitError } from "../../workspace/git/git-fault.ts";
import { type ChangedEntry, inBatches, readObjectsById, sizesOf } from "../../workspace/git/objects.ts";
import { faultText, TurnFailedError } from "../../../base/run-error.ts";
import type { TurnContext } from "../../turn-context.ts";

/** A page may have so many, before and after the change. Larger files are data. */
const MAX_PAGE_BYTES = 24 * 1024 ** 2;
const BATCH_BYTES = 48 * 1024 ** 2;
/** Of all pages that claims are about. */
const MAX_ALL_BYTES = 128 * 1024 ** 2;

type Stated = Pick<Claim, "page" | "statement">;

/**
 * Those of the claims that a change makes: their page is among the `changed` files, and their words
 * are in lines that it adds. Null if that can't be read. Rejects as {@link ifComparable} does.
 */
export function claimsOfChange<One extends Stated>(
  claims: readonly One[],
  changed: readonly ChangedEntry[],
  context: TurnContext,
): Promise<One[] | null> {
  return ifComparable(madeBy(claims, changed, context), context);
}

/**
 * What was read to compare claims with a change. Null if git or a reader can't, which is logged.
 * Rejects only if aborted, and if no git or reader can be started.
 */
export async function ifComparable<Read>(reading: Promise<Read>, context: TurnContext): Promise<Read | null> {
  try {
    return await reading;
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
  changed: readonly ChangedEntry[],
  { mirror, apart }: TurnContext,
): Promise<One[]> {
  if (claims.length === 0) return [];
  const named = new Set(claims.map(({ page }) => page));
  const files = changed.flatMap(({ path, was, is }) =>
    is !== null && named.has(path) ? [{ path, was, is }] : [],
  );
  const sizes = await mirror.use((git) => sizesOf(git, oidsOf(files)));
  const sizeOf = (oid: string | null) => (oid === null ? 0 : (sizes.get(oid) ?? Infinity));
  let room = MAX_ALL_BYTES;
  const pages = files.flatMap((file) => {
    const bytes = sizeOf(file.is) + sizeOf(file.was);
    if (bytes > MAX_PAGE_BYTES || bytes > room) return [];
    room -= bytes;
    return [{ ...file, bytes }];
  });
  const made = new Set<One>();
  for (const batch of inBatches(pages, BATCH_BYTES)) {
    const contents = await mirror.use((git) => readObjectsById(git, oidsOf(batch)));
    const contentOf = (oid: string) => contents.get(oid) ?? Buffer.alloc(0);
    const texts = new Map<string, ChangedText>(
      batch.map(({ path, was, is }) => [
        path,
        { after: contentOf(is), before: was === null ? null : contentOf(was) },
      ]),
    );
    const its = claims.filter(({ page }) => texts.has(page));
    const asked = its.map(({ page, statement }) => ({ page, statement }));
    const isMade = await apart.read("claimsInChange", { claims: asked, pages: texts });
    for (const [index, claim] of its.entries()) if (isMade[index] === true) made.add(claim);
  }
  return claims.filter((claim) => made.has(claim));
}

function oidsOf(files: readonly { was: string | null; is: string }[]): string[] {
  return files.flatMap(({ was, is }) => (was === null ? [is] : [is, was]));
}
