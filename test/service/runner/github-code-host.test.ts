import { expect, it } from "vitest";
import { fixedToken } from "../../../service/code-host/token-provider.ts";
import { createGitHubCodeHost } from "../../../service/code-host/github-code-host.ts";
import { createSystemClock } from "../../../src/process/clock-and-log.ts";
import { startHttpSide } from "../../support/turn-network.ts";

const BRANCH = "docs-agent/job1";

/** A pull request into acme/docs, as a host tells it. */
function pullFrom(repo: string | null | undefined, number: number) {
  return {
    number,
    title: "Fix",
    state: "open",
    html_url: `https://git.example.com/acme/docs/pull/${number}`,
    head: { ref: BRANCH, sha: "0".repeat(40), repo: typeof repo === "string" ? { full_name: repo } : repo },
    base: { ref: "main", repo: { full_name: "acme/docs" } },
  };
}

it("takes no fork's pull request for the job's, also where the fork is gone, and the host doesn't filter them", async () => {
  await using host = await startHttpSide((_seen, _request, response) =>
    response
      .writeHead(200, { "content-type": "application/json" })
      .end(
        JSON.stringify([
          pullFrom("mallory/docs", 4),
          pullFrom(undefined, 3),
          pullFrom(null, 2),
          pullFrom("acme/docs", 1),
        ]),
      ),
  );
  // By its old name, which the host still answers to.
  const codeHost = createGitHubCodeHost({
    apiUrl: host.url,
    owner: "acme",
    repo: "handbook",
    tokens: fixedToken(null, "DOCS_TOKEN"),
    clock: createSystemClock(),
    redact: (text) => text,
  });
  const found = await codeHost.find(BRANCH, AbortSignal.timeout(20_000));
  expect(found.map(({ number }) => number)).toEqual([3, 1]);
});
