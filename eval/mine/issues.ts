import { readFile } from "node:fs/promises";
import { z } from "zod";
import { EvalOptionError } from "../settings.ts";

/** An issue or a pull request in the form of GitHub's REST API. */
const Listed = z.object({
  number: z.int(),
  title: z.string().default(""),
  body: z.string().nullish(),
  html_url: z.string().default(""),
  pull_request: z.unknown().optional(),
});

/** An issue, or a pull request if `isPull`. */
export type Issue = { title: string; body: string | null; isPull: boolean };
/**
 * Looks an issue up by its number. `of` is `owner/name` if it is named with its repository, and
 * otherwise empty. Resolves to null if there is no such issue.
 */
export type Issues = (number: number, of: string) => Promise<Issue | null>;

const CALL_TIMEOUT_MS = 30_000;
const GONE = new Set([301, 404, 410, 451]);

/** No issues are known. */
export const NO_ISSUES: Issues = async () => null;

/**
 * The issues in a file, which is a list of GitHub's REST API, or those of `owner/name` at that API.
 * Rejects with an {@link EvalOptionError}.
 */
export async function issuesFrom(
  given: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Issues> {
  if (/^[\w.-]+\/[\w.-]+$/.test(given) && !given.endsWith(".json")) return issuesAt(given, env);
  const list = z.array(Listed).safeParse(await jsonOf(given));
  if (!list.success) throw new EvalOptionError(`${given}: ${z.prettifyError(list.error)}`);
  const byNumber = Map.groupBy(list.data, ({ number }) => number);
  return async (number, of) => {
    const its = byNumber.get(number)?.find(({ html_url }) => of === "" || html_url.includes(`/${of}/`));
    return its === undefined ? null : issueOf(its);
  };
}

async function jsonOf(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, "utf8"));
  } catch (error) {
    const why = error instanceof Error ? error.message : "unreadable";
    throw new EvalOptionError(`--issues ${file} can't be read as JSON: ${why}`);
  }
}

function issuesAt(repository: string, env: Readonly<Record<string, string | undefined>>): Issues {
  const base = (env["GITHUB_API_URL"] ?? "https://api.github.com").replace(/\/+$/, "");
  const token = env["GITHUB_TOKEN"];
  const asked = new Map<number, Promise<Issue | null>>();
  return async (number, of) => {
    if (of !== "" && of !== repository) return null;
    const answer = asked.get(number) ?? ask(number);
    asked.set(number, answer);
    return answer;
  };

  async function ask(number: number): Promise<Issue | null> {
    const url = `${base}/repos/${repository}/issues/${number}`;
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const headers = { accept: "application/vnd.github+json", ...authorization };
    try {
      const answer = await fetch(url, { headers, signal: AbortSignal.timeout(CALL_TIMEOUT_MS) });
      if (GONE.has(answer.status)) return null;
      if (!answer.ok) throw new Error(`it answers ${answer.status}`);
      return issueOf(Listed.parse(await answer.json()));
    } catch (error) {
      const why = error instanceof Error ? error.message : "it failed";
      throw new EvalOptionError(`--issues ${repository}: ${url}: ${why}. GITHUB_TOKEN has the token.`);
    }
  }
}

function issueOf({ title, body, pull_request: pull }: z.infer<typeof Listed>): Issue {
  return { title, body: body ?? null, isPull: pull !== undefined && pull !== null };
}
