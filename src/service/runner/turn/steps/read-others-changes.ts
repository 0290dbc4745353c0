import { pagesBetween } from "../../publish/whole-change.ts";
import { patchOf } from "../../workspace/git/changed-pages.ts";
import { createIsDoc } from "../../workspace/tree/select-changes.ts";
import type { OthersChange } from "../reviews/others-changes.ts";
import type { RunnerTurn, TurnContext } from "../../turn-context.ts";
import type { TurnStart } from "../turn-start.ts";
import { baseTip, changeOfPull, nameOf, orSkip } from "./find-overlaps.ts";

/** The most pages that are read, of all pull requests. */
const PAGES_MAX = 60;
const PATCH_MAX_BYTES = 64 * 1024;

/**
 * What open pull requests change in pages that the turn may be about, quoted for its agent. What
 * can't be read is left out.
 */
export async function readOthersChanges(
  { jobId, prompt, project, openPulls = [] }: RunnerTurn,
  context: TurnContext,
  { base, job }: Pick<TurnStart, "base" | "job">,
): Promise<string> {
  if (openPulls.length === 0) return "";
  const { mirror, apart } = context;
  context.onProgress("reading open pull requests");
  const isDoc = createIsDoc(project.docs);
  const changes: OthersChange[] = [];
  const tip = await baseTip(context, jobId);
  if (tip === null) return "";
  for (const pull of openPulls) {
    const { headSha } = pull;
    const change = await orSkip(context, () => changeOfPull(context, tip, headSha));
    const pages = change?.pages.filter(({ path }) => isDoc(path)) ?? [];
    for (const { path } of pages.slice(0, PAGES_MAX - changes.length)) {
      const at = { from: change?.from ?? "", to: headSha, path };
      const patch = await orSkip(context, () => mirror.use((git) => patchOf(git, at)));
      if (patch !== null)
        changes.push({ pull: nameOf(pull), path, patch: patch.subarray(0, PATCH_MAX_BYTES) });
    }
  }
  if (changes.length === 0) return "";
  const own = job === null ? [] : await mirror.use((git) => pagesBetween(git, base, job));
  const pages = own.map(({ path }) => path);
  return (await orSkip(context, () => apart.read("othersChanges", { changes, prompt, pages }))) ?? "";
}
