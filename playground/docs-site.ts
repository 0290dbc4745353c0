import { createServer, type ServerResponse } from "node:http";
import type { CodeHost } from "../world/code-host/index.ts";
import { markdownHtml } from "../world/code-host/index.ts";
import { closeNow, listenOnLoopback } from "../world/loopback-server.ts";

/** The site that the docs are published on. */
export interface DocsSite extends AsyncDisposable {
  readonly url: string;
}

const HTML = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'",
};
const STYLE =
  "body{font:16px/1.6 system-ui,sans-serif;max-width:44rem;margin:2rem auto;padding:0 1rem;" +
  "color-scheme:light dark}pre,code{font-family:ui-monospace,monospace}pre{overflow:auto}";

/**
 * Serves the pages of `main` as a docs site would: without the endings of their names. A merge is
 * there at once.
 */
export async function startDocsSite(
  codeHost: CodeHost,
  { owner, repo, port }: { owner: string; repo: string; port: number },
): Promise<DocsSite> {
  const { repository } = codeHost.repository(owner, repo);

  async function answer(path: string, response: ServerResponse): Promise<void> {
    const pages = await repository.texts("main", /\.mdx?$/);
    const name = path.replace(/^\/|\/$/g, "");
    const found = [name, `${name}/README`, `${name}/index`]
      .map((start) => start.replace(/^\//, ""))
      .flatMap((start) => pages.get(`${start}.md`) ?? pages.get(`${start}.mdx`) ?? [])[0];
    const text = found?.replace(/^---\n[^]*?\n---\n/, "") ?? "# There is no such page";
    const title = /^# (.+)$/m.exec(text)?.[1] ?? name;
    const head = `<meta charset="utf-8"><meta name="viewport" content="width=device-width">`;
    response.writeHead(found === undefined ? 404 : 200, HTML);
    response.end(
      `<!doctype html><html lang="en"><head>${head}<title>${escapeHtml(title)}</title>` +
        `<style>${STYLE}</style></head><body><main>${markdownHtml(text)}</main></body></html>`,
    );
  }

  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://localhost");
    answer(decoded(pathname), response).catch(() => response.writeHead(500).end());
  });
  const bound = await listenOnLoopback(server, port);
  return { url: `http://127.0.0.1:${bound}`, [Symbol.asyncDispose]: () => closeNow(server) };
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
