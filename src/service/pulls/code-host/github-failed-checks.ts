import { z } from "zod";
import { listOf } from "./bounded-list.ts";
import type { GitHubApi } from "./github-api.ts";
import { unlessRefused } from "./github-fault.ts";
import { readPages } from "./read-pages.ts";

const REPOSITORY = "/repos/{owner}/{repo}";
/** What counts as passed, or as not run. */
const NOT_FAILED = [null, "success", "neutral", "skipped"];

const Run = z.object({
  id: z.int(),
  name: z.string(),
  conclusion: z.string().nullish(),
  html_url: z.string().nullish(),
  details_url: z.string().nullish(),
  output: z
    .object({
      title: z.string().nullish(),
      summary: z.string().nullish(),
      annotations_count: z.int().nullish(),
    })
    .nullish(),
});
const Status = z.object({
  context: z.string(),
  state: z.string(),
  description: z.string().nullish(),
  target_url: z.string().nullish(),
});
const Annotation = z.object({
  path: z.string(),
  start_line: z.int().nullish(),
  message: z.string().nullish(),
});
const Runs = z.object({ check_runs: listOf(Run) }).transform(({ check_runs: runs }) => runs);
const Statuses = z.object({ statuses: listOf(Status) }).transform(({ statuses }) => statuses);
const Annotations = listOf(Annotation);

/** What a failed check says (untrusted, unbounded). */
export type SaidByCheck = {
  name: string;
  url: string | null;
  title: string;
  summary: string;
  annotations: { path: string; line: number | null; message: string }[];
};

/**
 * Reads what failed checks of a commit say: at most `max` of those that `counts` takes. Of each,
 * `annotations` are read, or of those that say nothing else. Empty if the token may not read them.
 */
export async function readFailedChecks(
  api: GitHubApi,
  {
    sha,
    counts,
    max,
    annotations,
  }: {
    sha: string;
    counts: (name: string) => boolean;
    max: number;
    annotations: "all" | "if-silent";
  },
  signal: AbortSignal,
): Promise<SaidByCheck[]> {
  const read = async <T>(what: string, schema: z.ZodType<T[]>, isWanted: (item: T) => boolean) => {
    const asked = { doing: "Reading failed checks", signal, schema };
    const isEnough = (items: T[]) => items.filter(isWanted).length >= max;
    const pages = readPages(api, asked, { route: `GET ${REPOSITORY}/${what}`, isEnough });
    return ((await unlessRefused(pages)) ?? []).filter(isWanted);
  };
  const failed = await read(
    `commits/${sha}/check-runs`,
    Runs,
    ({ conclusion = null, name }) => !NOT_FAILED.includes(conclusion) && counts(name),
  );
  const statuses = await read(
    `commits/${sha}/status`,
    Statuses,
    ({ state, context }) => ["failure", "error"].includes(state) && counts(context),
  );
  const said: SaidByCheck[] = [];
  for (const { id, name, html_url: page, details_url: details, output } of failed.slice(0, max)) {
    const title = output?.title ?? "";
    const summary = output?.summary ?? "";
    const isSilent = `${title}${summary}`.trim() === "";
    const hasThem = (output?.annotations_count ?? 0) > 0 && (annotations === "all" || isSilent);
    const notes = hasThem ? await read(`check-runs/${id}/annotations`, Annotations, () => true) : [];
    said.push({
      name,
      url: page ?? details ?? null,
      title,
      summary,
      annotations: notes.map(({ path, start_line: line = null, message }) => ({
        path,
        line,
        message: message ?? "",
      })),
    });
  }
  for (const { context: name, description, target_url: url = null } of statuses.slice(0, max - said.length)) {
    said.push({ name, url, title: description ?? "", summary: "", annotations: [] });
  }
  return said;
}
