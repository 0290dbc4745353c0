import { createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, verify } from "node:crypto";
import { type Context, Hono, type MiddlewareHandler } from "hono";
import { z } from "zod";
import { jsonOf } from "../../src/shared/text/text.ts";
import { ApiRefusal, notFound } from "./api/errors.ts";
import type { Host } from "./host.ts";

/**
 * An installation of an App: its account, and its permissions. Names of repositories have no owner.
 */
export type Installation = {
  id: number;
  account: string;
  repositories: string[];
  permissions: Record<string, string>;
  isSuspended?: boolean;
};
export type EmulatedApp = { id: number; slug: string; publicKey: KeyObject; installations: Installation[] };

type Minted = { token: string; installation: Installation; repositories: string[]; untilMs: number };

const TOKEN_LIFE_MS = 60 * 60_000;
const MAX_SIGNED_SECONDS = 600;

const Manifest = z.object({
  name: z.string().min(1).max(34),
  url: z.url(),
  redirect_url: z.url(),
  hook_attributes: z.object({ url: z.url(), active: z.boolean() }).optional(),
  public: z.boolean(),
  default_permissions: z.record(z.string(), z.enum(["read", "write"])),
  default_events: z.array(z.string()),
});
type Manifest = z.infer<typeof Manifest>;

/**
 * The permission that each event needs. See docs.github.com/webhooks/webhook-events-and-payloads.
 */
const NEEDED: Record<string, string> = {
  push: "contents",
  pull_request: "pull_requests",
  pull_request_review: "pull_requests",
  pull_request_review_comment: "pull_requests",
  check_suite: "checks",
  check_run: "checks",
  status: "statuses",
  issue_comment: "issues",
  merge_group: "merge_queues",
  deployment_status: "deployments",
};

/**
 * GitHub Apps: their signatures, their installations' tokens, and their creation from a manifest.
 */
export class Apps {
  readonly all = new Map<number, EmulatedApp>();
  /** The manifests that Apps were made from, oldest first. */
  readonly manifests: Manifest[] = [];
  /** Every token that was given out, oldest first. */
  readonly minted: Minted[] = [];
  readonly #codes = new Map<string, { manifest: Manifest; owner: string }>();
  readonly #host: Host;

  constructor(host: Host) {
    this.#host = host;
  }

  add(app: Omit<EmulatedApp, "publicKey"> & { publicKey: KeyObject | string }): EmulatedApp {
    const { publicKey: key } = app;
    const added = { ...app, publicKey: typeof key === "string" ? createPublicKey(key) : key };
    this.all.set(app.id, added);
    return added;
  }

  /** Refuses every token that was given out so far. */
  revokeAll(): void {
    for (const minted of this.minted) this.#end(minted);
  }

  /**
   * Makes the middleware that comes before everything else. It refuses a request that its token
   * doesn't allow.
   */
  guard(): MiddlewareHandler {
    return async (context, next) => {
      const minted = this.#mintedOf(context.req.header("authorization"));
      if (minted !== undefined) {
        if (minted.untilMs <= this.#host.now().getTime()) this.#end(minted);
        else if (minted.installation.isSuspended === true) {
          throw new ApiRefusal(403, "This installation has been suspended");
        } else this.#permit(context, minted);
      }
      await next();
    };
  }

  #permit(context: Context, { installation, repositories }: Minted): void {
    const path = new URL(context.req.url).pathname;
    const named = /^(?:\/api\/v3\/repos)?\/([^/]+)\/([^/]+?)(?:\.git)?(?:\/|$)/.exec(path);
    const [, owner, repo = ""] = named ?? [];
    if (owner === "api") return;
    if (owner !== installation.account || !repositories.includes(repo)) throw notFound();
    const isWriting = !["GET", "HEAD"].includes(context.req.method);
    const need =
      isWriting && /\/pulls(?:\/|$)|\/issues\//.test(path)
        ? "pull_requests"
        : path.endsWith("/git-receive-pack")
          ? "contents"
          : null;
    if (need === null || installation.permissions[need] === "write") return;
    context.header("x-accepted-github-permissions", `${need}=write`);
    throw new ApiRefusal(403, "Resource not accessible by integration");
  }

  routes(): Hono {
    const routes = new Hono();
    // Its user has another id (docs.github.com/rest/apps/apps#get-the-authenticated-app).
    routes.get("/app", (context) => {
      const { id, slug } = this.#app(context);
      return context.json({ id, slug, name: slug, html_url: `${this.#host.links().url}/apps/${slug}` });
    });
    routes.get("/app/installations", (context) =>
      context.json(this.#app(context).installations.map((each) => this.#shown(each))),
    );
    routes.get("/app/installations/:id", (context) => context.json(this.#shown(this.#installation(context))));
    routes.post("/app/installations/:id/access_tokens", async (context) => {
      const app = this.#app(context);
      const installation = this.#installation(context);
      if (installation.isSuspended === true) {
        throw new ApiRefusal(403, "This installation has been suspended");
      }
      const asked = z
        .object({ repositories: z.array(z.string()).optional() })
        .parse(await context.req.json().catch(() => ({})));
      const repositories = asked.repositories ?? installation.repositories;
      if (!repositories.every((name) => installation.repositories.includes(name))) {
        const words = "There is at least one repository that does not exist or is not accessible";
        throw new ApiRefusal(422, `${words} to the parent installation.`);
      }
      // This is the form of tokens since 2026: the App's id, and something signed.
      const part = () => randomBytes(40).toString("base64url");
      const token = `ghs_${app.id}_eyJ${part()}.eyJ${part()}.${part()}`;
      const untilMs = this.#host.now().getTime() + TOKEN_LIFE_MS;
      this.minted.push({ token, installation, repositories, untilMs });
      const { permissions } = installation;
      this.#host.tokens.add({ token, login: `${app.slug}[bot]`, kind: "installation", permissions });
      const expiresAt = new Date(untilMs).toISOString();
      return context.json(
        { token, expires_at: expiresAt, permissions, repository_selection: "selected" },
        201,
      );
    });
    routes.post("/app-manifests/:code/conversions", (context) => {
      const code = context.req.param("code");
      const known = this.#codes.get(code);
      if (known === undefined) throw notFound();
      this.#codes.delete(code);
      return context.json(this.#made(known), 201);
    });
    return routes;
  }

  /**
   * Returns the pages that take a manifest. They act as if the person who opened them had pressed
   * the button at once.
   */
  pages(): Hono {
    const pages = new Hono();
    for (const path of ["/settings/apps/new", "/organizations/:org/settings/apps/new"]) {
      pages.post(path, async (context) => {
        const { manifest: text } = await context.req.parseBody();
        const { data: manifest } = Manifest.safeParse(typeof text === "string" ? JSON.parse(text) : null);
        if (manifest === undefined) return context.text("Invalid manifest\n", 422);
        const { default_permissions: permissions, default_events: events } = manifest;
        const odd = events.filter((event) => !(NEEDED[event] !== undefined && NEEDED[event] in permissions));
        if (odd.length > 0) return context.text(`Default events unsupported: ${odd.join(", ")}\n`, 422);
        this.manifests.push(manifest);
        const code = randomBytes(20).toString("hex");
        this.#codes.set(code, { manifest, owner: context.req.param("org") ?? "ana" });
        const back = new URL(manifest.redirect_url);
        back.searchParams.set("code", code);
        back.searchParams.set("state", context.req.query("state") ?? "");
        return context.redirect(back.href);
      });
    }
    return pages;
  }

  #made({ manifest, owner }: { manifest: Manifest; owner: string }): object {
    const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const id = 1000 + this.all.size;
    const slug = manifest.name.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
    this.add({ id, slug, publicKey, installations: [] });
    return {
      id,
      slug,
      name: manifest.name,
      owner: { login: owner },
      html_url: `${this.#host.links().url}/apps/${slug}`,
      pem: privateKey.export({ type: "pkcs1", format: "pem" }),
      webhook_secret: manifest.hook_attributes?.active === true ? randomBytes(20).toString("hex") : null,
      client_id: `Iv23li${randomBytes(7).toString("hex")}`,
      client_secret: randomBytes(20).toString("hex"),
      permissions: manifest.default_permissions,
      events: manifest.default_events,
    };
  }

  #installation(context: Context): Installation {
    const found = this.#app(context).installations.find(({ id }) => String(id) === context.req.param("id"));
    if (found === undefined) throw notFound();
    return found;
  }

  #shown({ id, account, permissions, isSuspended = false }: Installation): object {
    return {
      id,
      account: { login: account },
      permissions,
      repository_selection: "selected",
      suspended_at: isSuspended ? this.#host.now().toISOString() : null,
    };
  }

  /** Returns the App that signed the request. It checks the signature as GitHub does. */
  #app(context: Context): EmulatedApp {
    const now = this.#host.now();
    context.header("date", now.toUTCString());
    const refused = (message: string) => new ApiRefusal(401, message);
    const [, jwt = ""] = /^bearer +(\S+)$/i.exec(context.req.header("authorization") ?? "") ?? [];
    const [head = "", body = "", signature = ""] = jwt.split(".");
    const { data: claims } = z
      .object({ iss: z.coerce.number(), iat: z.int(), exp: z.int() })
      .safeParse(decoded(body));
    const app = claims && this.all.get(claims.iss);
    const isSigned =
      z.object({ alg: z.literal("RS256") }).safeParse(decoded(head)).success &&
      app !== undefined &&
      verify(
        "RSA-SHA256",
        Buffer.from(`${head}.${body}`),
        app.publicKey,
        Buffer.from(signature, "base64url"),
      );
    if (!isSigned || claims === undefined) throw refused("A JSON web token could not be decoded");
    const seconds = now.getTime() / 1000;
    if (claims.exp > seconds + MAX_SIGNED_SECONDS || claims.exp - claims.iat > MAX_SIGNED_SECONDS) {
      throw refused("'Expiration time' claim ('exp') is too far in the future");
    }
    if (claims.exp <= seconds) {
      const words = "must be a numeric value representing the future time at which the assertion expires";
      throw refused(`'Expiration time' claim ('exp') ${words}`);
    }
    return app;
  }

  #mintedOf(authorization = ""): Minted | undefined {
    const [, scheme = "", given = ""] = /^(\S+) +(\S+) *$/.exec(authorization) ?? [];
    const isBasic = scheme.toLowerCase() === "basic";
    const token = isBasic ? Buffer.from(given, "base64").toString("utf8").split(":")[1] : given;
    return this.minted.find((minted) => minted.token === token);
  }

  /** Makes a token unknown from now on. */
  #end({ token }: Minted): void {
    this.#host.tokens.remove(token);
  }
}

function decoded(part: string): unknown {
  return jsonOf(Buffer.from(part, "base64url").toString("utf8"));
}
