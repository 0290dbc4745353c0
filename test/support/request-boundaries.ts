import type { SlackSide } from "../../world/slack/index.ts";
import type { Boundary } from "../contracts/kill-at-every-step.ts";
import type { JobServiceSide } from "../../world/job-service/side.ts";

/**
 * Reports every request that the app sends, before and after its effect. Calls `kill` if the
 * request is the `boundary`.
 */
export function onRequests(
  { slack, service }: { slack: SlackSide; service: JobServiceSide },
  boundary: Boundary | null,
  onStep: (step: Boundary) => void,
  kill: () => Promise<void> | undefined,
): void {
  const requests = new Map<string, number>();
  /**
   * Resolves to true if the process was killed here before the request had an effect. Then it has
   * none.
   */
  async function onRequest(phase: "before" | "after", what: string): Promise<boolean> {
    const number = (requests.get(what) ?? 0) + (phase === "before" ? 1 : 0);
    requests.set(what, number);
    onStep({ at: "request", phase, number, what });
    const isIt = boundary?.at === "request" && boundary.phase === phase;
    if (!isIt || boundary.what !== what || boundary.number !== number) return false;
    await kill();
    return phase === "before";
  }
  slack.onCall(async (phase, { method }) => {
    if (await onRequest(phase, method)) slack.faults.add({ method, fault: { kind: "drop-before" } });
  });
  service.onCall(async (phase, { op }) => {
    if (await onRequest(phase, `job service ${op}`)) {
      service.faults.add({ op, times: 1, fault: { kind: "drop-before" } });
    }
  });
}
