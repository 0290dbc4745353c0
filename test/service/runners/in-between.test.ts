import { Agent } from "undici";
import { expect, it } from "vitest";
import { type LeasedWork, PROTOCOL } from "../../../src/service/runner/protocol.ts";
import {
  RunnerRefusedError,
  ServiceLink,
  WorkLostError,
} from "../../../src/service/runner/link/service-link.ts";
import { startHttpSide } from "../../support/turn-network.ts";

const WORK: LeasedWork = {
  id: "job.1.1",
  token: "lease",
  run: 1,
  leaseMs: 60_000,
  kind: "upkeep",
  projects: [],
  unfinished: [],
};
const PAGE = "<html>default backend</html>";

/** A link to an address where each call gets the next of these answers, and the last one again. */
async function linkTo(...answers: { status: number; body: string }[]) {
  const stack = new AsyncDisposableStack();
  let calls = 0;
  const side = stack.use(
    await startHttpSide((_seen, _request, response) => {
      const { status, body } = answers[Math.min(calls, answers.length - 1)] ?? { status: 500, body: "" };
      calls += 1;
      response.writeHead(status).end(body);
    }),
  );
  const dispatcher = new Agent();
  stack.defer(() => dispatcher.close());
  const { signal } = new AbortController();
  return {
    link: new ServiceLink({ url: side.url, token: "t", dispatcher, signal }),
    signal,
    calls: () => calls,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

it.each([401, 403, 404, 409, 426, 502])(
  "repeats a call about work that somebody in between answers with %s",
  async (status) => {
    await using world = await linkTo({ status, body: PAGE }, { status: 200, body: '{"text":"kept"}' });
    expect(await world.link.notesOf(WORK, world.signal).read("turn")).toBe("kept");
    await world.link.result(WORK, { kind: "upkeep" });
    expect(world.calls()).toBe(3);
  },
);

it("takes the service at its word that work is lost, or that it doesn't take this runner", async () => {
  const body = '{"error":"No."}';
  await using lost = await linkTo({ status: 409, body });
  await expect(lost.link.notesOf(WORK, lost.signal).read("turn")).rejects.toThrow(WorkLostError);
  await using refused = await linkTo({ status: 401, body });
  await expect(refused.link.result(WORK, { kind: "upkeep" })).rejects.toThrow(RunnerRefusedError);
  // Whoever asks for work is told at once that this is no job service.
  await using elsewhere = await linkTo({ status: 404, body: PAGE });
  const claim = { protocol: PROTOCOL, version: "1", machine: "m", session: "s", places: 1, labels: [] };
  await expect(elsewhere.link.claim({ ...claim, projects: null }, elsewhere.signal)).rejects.toThrow(
    RunnerRefusedError,
  );
});
