import { html } from "hono/html";
import type { WayBack } from "../host.ts";

const TONES = 6;

export type Html = ReturnType<typeof html>;

type Layout = {
  title: string;
  /** The labels and addresses from the repository to this page. */
  trail: { label: string; href: string }[];
  /** The place that people came from. */
  home: WayBack | null;
  content: Html;
};

/** Draws a whole page around its content. */
export function page({ title, trail, home, content }: Layout): Html {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title} · Code host</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="/assets/diff2html.css" />
        <link rel="stylesheet" href="/assets/pages.css" />
      </head>
      <body>
        <a class="skip" href="#content">Skip to content</a>
        <header class="top">
          <nav aria-label="Where you are">
            <ol>
              ${home === null ? "" : html`<li><a href="${home.href}">← ${home.label}</a></li>`}
              <li>Code host</li>
              ${trail.map(({ label, href }) => html`<li><a href="${href}">${label}</a></li>`)}
            </ol>
          </nav>
        </header>
        <main id="content" tabindex="-1">${content}</main>
        <footer>A local code host of the docs-agent playground. Nothing here leaves this machine.</footer>
      </body>
    </html>`;
}

/** Draws a time, for people and for programs. */
export function time(iso: string): Html {
  const utc = new Date(iso).toISOString();
  return html`<time datetime="${utc}">${utc.slice(0, 10)} ${utc.slice(11, 16)} UTC</time>`;
}

/** Draws a person's first letter in a color that is always theirs. */
export function initial(login: string): Html {
  const tone = ((login.codePointAt(0) ?? 0) + login.length) % TONES;
  return html`<span class="avatar tone-${tone}" aria-hidden="true">${login.slice(0, 1).toUpperCase()}</span>`;
}
