import { createHmac, randomUUID } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { deploymentShape, deploymentStatusShape } from "./api/deployments.ts";
import { lineCommentShape } from "./api/line-comments.ts";
import { commentShape, reviewShape } from "./api/reviews.ts";
import { pullRequestShape, repositoryShape, userShape } from "./api/shapes.ts";
import type { HostEvent } from "./events.ts";
import type { Host } from "./host.ts";
import { threadsOf } from "./line-threads.ts";
import type { PullRequest } from "./pull-request-store.ts";

const TIME_LIMIT_MS = 10_000;

export type WebhookDelivery = {
  /** `X-GitHub-WebhookDelivery`. It stays the same if the delivery is sent again. */
  id: string;
  /** `X-GitHub-Event`. */
  event: string;
  payload: string;
  /** The status of the answer. Null if there was none within 10 s. */
  status: number | null;
};

/**
 * Sends events to an address as GitHub does: signed, without a second attempt, and with 10 s for an
 * answer (docs.github.com/webhooks, "Validating webhook deliveries", "Best practices for using
 * webhooks", "Handling failed webhook deliveries").
 */
export class Webhooks {
  readonly deliveries: WebhookDelivery[] = [];
  readonly #host: Host;
  readonly #running = new Set<Promise<void>>();
  readonly #end = new AbortController();

  constructor(host: Host) {
    this.#host = host;
  }

  deliver(event: HostEvent): void {
    if (this.#host.rules.webhook === null) return;
    const running = this.#tell(event).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Sends an earlier delivery again. */
  async redeliver(id: string): Promise<void> {
    const known = this.deliveries.find((delivery) => delivery.id === id);
    if (known !== undefined) await this.#send({ ...known, status: null });
  }

  /** Ends the deliveries that have begun, and starts no others. */
  async close(): Promise<void> {
    this.#end.abort();
    await Promise.all(this.#running);
  }

  async #tell(event: HostEvent): Promise<void> {
    // The request that caused the event is answered first.
    await setImmediate();
    const [name, payload] = await payloadOf(event, this.#host);
    await this.#send({ id: randomUUID(), event: name, payload: JSON.stringify(payload), status: null });
  }

  async #send(delivery: WebhookDelivery): Promise<void> {
    const { webhook } = this.#host.rules;
    if (webhook === null || this.#end.signal.aborted) return;
    this.deliveries.push(delivery);
    const signature = createHmac("sha256", webhook.secret).update(delivery.payload).digest("hex");
    const answer = await fetch(webhook.url, {
      method: "POST",
      redirect: "manual",
      signal: AbortSignal.any([this.#end.signal, AbortSignal.timeout(TIME_LIMIT_MS)]),
      headers: {
        "content-type": "application/json",
        "user-agent": "GitHub-Hookshot/0000000",
        "x-github-delivery": delivery.id,
        "x-github-event": delivery.event,
        "x-github-hook-id": "1",
        "x-hub-signature-256": `sha256=${signature}`,
      },
      body: delivery.payload,
    }).catch(() => null);
    delivery.status = answer?.status ?? null;
    await answer?.body?.cancel().catch(() => {});
  }
}

/**
 * Resolves to the event's name and its payload
 * (docs.github.com/webhooks/webhook-events-and-payloads).
 */
async function payloadOf(event: HostEvent, host: Host): Promise<[string, object]> {
  const { repository } = event;
  const links = host.links();
  const defaultBranch = await repository.defaultBranch();
  const common = {
    repository: repositoryShape(repository, defaultBranch, true, links),
    sender: userShape(event.sender, "User", links),
  };
  const shapeOf = async (pullRequest: PullRequest) => {
    const commits = (await host.find(repository.owner, repository.name)?.commits(pullRequest)) ?? null;
    const shape = pullRequestShape({ repository, defaultBranch, pullRequest, commits, canPush: true }, links);
    return { ...shape, merged: pullRequest.mergedAt !== null };
  };
  switch (event.kind) {
    case "pull-request": {
      const { action, pullRequest } = event;
      return [
        "pull_request",
        { action, number: pullRequest.number, pull_request: await shapeOf(pullRequest), ...common },
      ];
    }
    case "review": {
      const { action, pullRequest } = event;
      const review = reviewShape(event.review, pullRequest, repository, links);
      const state = review.state.toLowerCase();
      return [
        "pull_request_review",
        { action, review: { ...review, state }, pull_request: await shapeOf(pullRequest), ...common },
      ];
    }
    case "comment": {
      const { number, title } = event.pullRequest;
      const comment = commentShape(event.comment, event.pullRequest, repository, links);
      return [
        "issue_comment",
        { action: "created", issue: { number, title, pull_request: {} }, comment, ...common },
      ];
    }
    case "line-comment": {
      const { pullRequest } = event;
      const pullRequests = host.find(repository.owner, repository.name);
      const threads = pullRequests === undefined ? [] : await threadsOf(pullRequests, pullRequest);
      const comment = lineCommentShape(event.comment, threads, pullRequest, repository, host);
      return [
        "pull_request_review_comment",
        { action: "created", comment, pull_request: await shapeOf(pullRequest), ...common },
      ];
    }
    case "checks-ended": {
      const { sha, conclusion } = event;
      const suite = { id: 1, head_sha: sha, status: "completed", conclusion, pull_requests: [] };
      return ["check_suite", { action: "completed", check_suite: suite, ...common }];
    }
    case "deployment-status": {
      const { deployment, status } = event;
      return [
        "deployment_status",
        {
          action: "created",
          deployment: deploymentShape(deployment, repository, links),
          deployment_status: deploymentStatusShape(deployment, status, repository, links),
          ...common,
        },
      ];
    }
    case "status": {
      const { id, sha, state, context, description, targetUrl } = event.status;
      return [
        "status",
        { id, sha, state, context, description, target_url: targetUrl, branches: [], ...common },
      ];
    }
  }
}
