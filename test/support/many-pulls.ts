import { createServer } from "node:http";
import { closeNow, listenOnLoopback } from "../../world/loopback-server.ts";

type ManyPulls = {
  count: number;
  hasGraphql: boolean;
  hasNews: boolean;
  baseMovesMs?: number;
  areChecked?: boolean;
};

/**
 * Opens a code host with more pull requests than real git could make in time. All are open. Their
 * checks never end, unless `areChecked`. It counts calls as GitHub does. With `hasNews`, something
 * unrelated changes in each repository all the time. The base branches move every `baseMovesMs`,
 * and then the host's first answer about conflicts is that it has to find out.
 */
export async function openManyPulls(
  { count, hasGraphql, hasNews, baseMovesMs = Infinity, areChecked = false }: ManyPulls,
  now: () => number,
) {
  let paid = 0;
  let most = 0;
  const at = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`;
  const asked = new Set<string>();
  const openedMs = now();
  const headOf = () => `${Math.floor((now() - openedMs) / baseMovesMs)}`.padStart(40, "0");
  /** True if somebody has asked since the base moved. */
  function isKnown(repo: string, number: number): boolean {
    const about = `${repo} ${number} ${headOf()}`;
    const known = asked.has(about);
    asked.add(about);
    return known;
  }
  const startMs = now() - 24 * 3_600_000;
  const rest = (repo: string, number: number) => ({
    number,
    title: `Pull ${number}`,
    html_url: `http://127.0.0.1/acme/${repo}/pull/${number}`,
    state: "open",
    created_at: at(startMs),
    updated_at: at(startMs),
    head: { ref: "x", sha: `${number}` },
    base: { ref: "main" },
    mergeable: true,
    mergeable_state: "unstable",
  });
  const result = areChecked
    ? { status: "COMPLETED", conclusion: "SUCCESS" }
    : { status: "IN_PROGRESS", conclusion: null };
  const run = { name: "slow", ...result, isRequired: false };
  const rollup = { statusCheckRollup: { contexts: { nodes: [run] } } };
  const graphql = (repo: string, number: number) => ({
    ...rest(repo, number),
    state: "OPEN",
    headRef: "x",
    headSha: `${number}`,
    baseRef: "main",
    ...(isKnown(repo, number)
      ? { mergeable: "MERGEABLE", mergeable_state: "UNSTABLE" }
      : { mergeable: "UNKNOWN", mergeable_state: "UNKNOWN" }),
    commits: { nodes: [{ commit: rollup }] },
  });
  function answer(path: string, body: string): [status: number, data: unknown] {
    const [, , , repo = "", ...rest_] = path.split("?")[0]?.split("/") ?? [];
    const where = rest_.join("/");
    if (path === "/graphql") {
      if (!hasGraphql) return [404, {}];
      const asked = JSON.parse(body) as { query: string; variables: { repo: string } };
      const numbers = [...asked.query.matchAll(/p(\d+): pullRequest/g)].map((match) => Number(match[1]));
      most = Math.max(most, numbers.length);
      const found = numbers.map((number) => [`p${number}`, graphql(asked.variables.repo, number)]);
      return [200, { data: { repository: Object.fromEntries(found) } }];
    }
    if (where === "pulls") {
      if (/[?&]page=[^1]/.test(path)) return [200, []];
      const others = hasNews ? [{ number: 99_999, updated_at: at(now()) }] : [];
      return [200, [...others, ...Array.from({ length: 99 }, (_, index) => rest(repo, index + 1))]];
    }
    if (where === "git/ref/heads/main") return [200, { object: { sha: headOf() } }];
    if (where.endsWith("/reviews")) return [200, []];
    if (where.endsWith("/check-runs")) return [200, { check_runs: [run] }];
    if (where.endsWith("/status")) return [200, { statuses: [] }];
    return [200, rest(repo, Number(rest_.at(-1)))];
  }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const [status, data] = answer(request.url ?? "", Buffer.concat(chunks).toString());
      const isBase = request.url?.includes("/git/ref/") === true;
      const version = isBase ? headOf() : hasNews ? `${now()}` : "one";
      const etag = `"${version}"`;
      const isSame = request.headers["if-none-match"] === etag;
      if (!isSame) paid += 1;
      response.writeHead(isSame ? 304 : status, { "content-type": "application/json", etag });
      response.end(isSame ? "" : JSON.stringify(data));
    });
  });
  const port = await listenOnLoopback(server, 0, "127.0.0.1");
  return {
    apiUrl: `http://127.0.0.1:${port}`,
    link: (repo: number, number: number) => `http://127.0.0.1/acme/r${repo}/pull/${number}`,
    count,
    /** Returns the number of calls that count since the last time. */
    takePaid(): number {
      const was = paid;
      paid = 0;
      return was;
    },
    /** The largest number of pull requests in one query. */
    most: () => most,
    [Symbol.asyncDispose]: () => closeNow(server),
  };
}
