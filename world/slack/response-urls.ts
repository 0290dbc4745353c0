import { makeSecret } from "./ids.ts";
import { SlackRefusal } from "./refusal.ts";
import { ResponseBody, type ResponsePlace, showResponse } from "./responses.ts";
import type { Workspace } from "./workspace.ts";

const MAX_USES = 5;
const LIFETIME_MS = 30 * 60 * 1000;

type Issued = { place: ResponsePlace; issuedAt: number; uses: number };

/**
 * The URLs with which an app can answer an interaction: five times within half an hour. They work
 * where the bot isn't a member, too.
 */
export class ResponseUrls {
  readonly #workspace: Workspace;
  readonly #now: () => number;
  readonly #issued = new Map<string, Issued>();
  #baseUrl = "";

  constructor(workspace: Workspace, now: () => number) {
    this.#workspace = workspace;
    this.#now = now;
  }

  listenAt(baseUrl: string): void {
    this.#baseUrl = baseUrl;
  }

  issue(place: ResponsePlace): string {
    const secret = makeSecret();
    this.#issued.set(secret, { place, issuedAt: this.#now(), uses: 0 });
    return `${this.#baseUrl}response/${secret}`;
  }

  /** Returns the person to whom a URL was given. Undefined if it was never given to anybody. */
  userIdOf(secret: string): string | undefined {
    return this.#issued.get(secret)?.place.user;
  }

  /** Shows a response. Throws the refusal that Slack answers with 404, 410 or 400. */
  use(secret: string, body: unknown): void {
    const issued = this.#issued.get(secret);
    if (issued === undefined) throw new SlackRefusal("no_service");
    if (this.#now() - issued.issuedAt > LIFETIME_MS) throw new SlackRefusal("expired_url");
    if (issued.uses >= MAX_USES) throw new SlackRefusal("used_url");
    const parsed = ResponseBody.safeParse(body);
    if (!parsed.success) throw new SlackRefusal("invalid_payload");
    showResponse(this.#workspace, parsed.data, issued.place);
    issued.uses += 1;
  }
}

/** Returns the HTTP status of a refused response. */
export function statusOfRefusal(error: string): number {
  if (error === "no_service" || error === "expired_url" || error === "used_url") return 404;
  return error === "channel_is_archived" ? 410 : 400;
}
