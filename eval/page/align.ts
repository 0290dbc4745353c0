import { diffArrays } from "diff";
import type { Block } from "./blocks.ts";

/** What stands between two blocks that all three have. */
export type Segment = { before: Block[]; reference: Block[]; after: Block[] };

/**
 * `lost` are the blocks that the reference leaves alone, and that aren't in their place anymore.
 */
export type Aligned = { lost: Block[]; segments: Segment[] };

/** Lays a file before and after a task beside the reference's. */
export function aligned(
  before: readonly Block[],
  reference: readonly Block[],
  after: readonly Block[],
): Aligned {
  const kept = pairsOf(before, reference);
  const anchors = kept.map(([one]) => before[one]).filter((block) => block !== undefined);
  const matched = new Map(pairsOf(anchors, after));
  const lost = anchors.filter((_, nth) => !matched.has(nth));
  const segments: Segment[] = [];
  let [fromBefore, fromReference, fromAfter] = [0, 0, 0];
  const close = (toBefore: number, toReference: number, toAfter: number) => {
    const segment = {
      before: before.slice(fromBefore, toBefore),
      reference: reference.slice(fromReference, toReference),
      after: after.slice(fromAfter, toAfter),
    };
    if (Object.values(segment).some(({ length }) => length > 0)) segments.push(segment);
    [fromBefore, fromReference, fromAfter] = [toBefore + 1, toReference + 1, toAfter + 1];
  };
  for (const [nth, [inBefore, inReference]] of kept.entries()) {
    const inAfter = matched.get(nth);
    if (inAfter !== undefined) close(inBefore, inReference, inAfter);
  }
  close(before.length, reference.length, after.length);
  return { lost, segments };
}

/** The numbers of the blocks that two lists have in common, in their order. */
function pairsOf(one: readonly Block[], other: readonly Block[]): [number, number][] {
  const forms = (blocks: readonly Block[]) => blocks.map(({ form }) => form);
  const pairs: [number, number][] = [];
  let [at, to] = [0, 0];
  for (const { added, removed, value } of diffArrays(forms(one), forms(other))) {
    if (!added && !removed) pairs.push(...value.map((_, nth): [number, number] => [at + nth, to + nth]));
    if (!added) at += value.length;
    if (!removed) to += value.length;
  }
  return pairs;
}
