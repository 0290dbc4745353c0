import { z } from "zod";
import type { ReportedClaims } from "../../../src/core/ports/job-report.ts";
import type { GitHubSettings } from "../../config/config.ts";
import { fileName, plainMarkdown } from "./inert-text.ts";

/** A statement, and the result of looking for its source. Bounded and redacted. */
export const CheckedClaim = z.object({
  page: z.string(),
  statement: z.string(),
  /** `line` is where the quote begins. If it wasn't found, it is where the agent says. */
  source: z.object({ repository: z.string(), path: z.string(), line: z.int().nullable() }),
  isFound: z.boolean(),
  /** The lines' page at the project's own code host, or null if there is none. */
  url: z.string().nullable(),
  /** True if everybody who can read the pull request can also read the source's repository. */
  isPublic: z.boolean(),
});
export type CheckedClaim = z.infer<typeof CheckedClaim>;

const MAX_SHOWN = 10;

export function countClaims(claims: readonly CheckedClaim[] | null): ReportedClaims {
  return { total: claims?.length ?? 0, verified: claims?.filter(({ isFound }) => isFound).length ?? 0 };
}

/**
 * The lines of Markdown about the sources: a short first one and, after an empty line, a list that
 * begins with what to look at first. A public pull request names nothing that isn't public.
 */
export function sourcesSection(
  claims: readonly CheckedClaim[] | null,
  { isPublicPullRequest }: { isPublicPullRequest: boolean },
): string[] {
  if (claims === null || claims.length === 0) return ["The agent named no sources."];
  const named = claims.filter(({ isPublic }) => isPublic || !isPublicPullRequest);
  const hidden = claims.filter((claim) => !named.includes(claim));
  const listed = named.toSorted((a, b) => Number(a.isFound) - Number(b.isFound));
  const more = listed.slice(MAX_SHOWN);
  const { total, verified } = countClaims(claims);
  return [
    `${total} ${total === 1 ? "statement" : "statements"}, ${verified} with a source.`,
    "",
    ...listed.slice(0, MAX_SHOWN).map((claim) => `- ${claimText(claim, isPublicPullRequest)}`),
    ...(more.length === 0 ? [] : [`- … and ${countText(more, "more")}`]),
    ...(hidden.length === 0 ? [] : [`- ${countText(hidden, "in sources that aren't public")}`]),
  ];
}

function countText(claims: readonly CheckedClaim[], what: string): string {
  const { total, verified } = countClaims(claims);
  return `${total} ${what}, ${verified} found`;
}

function claimText({ page, statement, source, isFound, url }: CheckedClaim, isPublic: boolean): string {
  const about = `${fileName(page)}: ${plainMarkdown(statement)} –`;
  const { repository, path, line } = source;
  const from = repository === "docs" ? "" : `${repository}: `;
  const place = plainMarkdown(`${from}${path}${line === null ? "" : `, line ${line}`}`);
  // A source that wasn't found may contain a name that isn't public.
  if (!isFound) return `${about} source not found${isPublic || path === "" ? "" : ` (${place})`}`;
  return `${about} source found: ${url === null ? place : `[${place}](${url})`}`;
}

type CodeHost = Pick<GitHubSettings, "apiUrl">;
/** A repository of the project's own code host. */
export type HostedRepository = { owner: string; repo: string };

const SSH_ADDRESS = /^(?:ssh:\/\/)?[\w.-]+@(?<host>[\w.-]+)(?::\d+\/|[:/])(?<path>.+)$/;
const PART = /^(?!\.{1,2}$)[\w.-]{1,100}$/;

/**
 * The address of the code host's pages, derived from its API's address. Null if that doesn't tell.
 */
function webAddress({ apiUrl }: CodeHost): URL | null {
  const url = URL.parse(apiUrl);
  if (url === null) return null;
  const path = url.pathname.replace(/\/+$/, "");
  if (/\/api\/v\d+$/.test(path)) return new URL(path.replace(/\/api\/v\d+$/, "/"), url.origin);
  return path === "" && url.host.startsWith("api.") ? new URL(`${url.protocol}//${url.host.slice(4)}`) : null;
}

/** The repository at this code host that an address leads to. Null if it is somewhere else. */
export function repositoryAt(codeHost: CodeHost, repository: string): HostedRepository | null {
  const web = webAddress(codeHost);
  if (web === null) return null;
  const { host, path } = addressOf(repository) ?? { host: "", path: "" };
  const base = web.pathname.slice(1);
  if (host !== web.host && host !== web.hostname) return null;
  const parts = path.startsWith(base) ? path.slice(base.length).split("/") : [];
  const [owner = "", repo = ""] = [parts[0], parts[1]?.replace(/\.git$/, "")];
  return parts.length === 2 && PART.test(owner) && PART.test(repo) ? { owner, repo } : null;
}

function addressOf(repository: string): { host: string; path: string } | null {
  if (/^https?:/i.test(repository)) {
    const url = URL.parse(repository);
    return url && { host: url.host, path: url.pathname.slice(1) };
  }
  const { host, path } = SSH_ADDRESS.exec(repository)?.groups ?? {};
  return host === undefined || path === undefined ? null : { host, path: path.replace(/^\//, "") };
}

/**
 * The page of these lines of a file in that commit. Null if the address of the code host's pages
 * isn't known.
 */
export function linesUrl(
  codeHost: CodeHost,
  { owner, repo }: HostedRepository,
  commit: string,
  { path, from, to }: { path: string; from: number; to: number },
): string | null {
  const web = webAddress(codeHost);
  const steps = [owner, repo, "blob", commit, ...path.split("/")].map(encodeStep).join("/");
  return web && `${web.href}${steps}#L${from}${to === from ? "" : `-L${to}`}`;
}

/** Encodes a part of a path, for use in a Markdown link. */
function encodeStep(part: string): string {
  return encodeURIComponent(part).replace(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
