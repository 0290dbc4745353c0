import { html } from "hono/html";
import type { DoctorFinding } from "../../service/cli/finding.ts";
import type { FirstRequest, SetupRun } from "../setup-run.ts";
import type { SetupStep, StepField, StepWords } from "../steps/step.ts";
import { commandOf } from "../../shared/machine/this-copy.ts";

type Html = ReturnType<typeof html>;

const MARKS = { ok: "✓", warn: "!", fault: "✗" } as const satisfies Record<DoctorFinding["level"], string>;
const SPOKEN = { ok: "All right", warn: "Warning", fault: "Fault" } as const satisfies Record<
  DoctorFinding["level"],
  string
>;
const ADDRESS = /(https?:\/\/[^\s"'<>]+)/;

/** What to show: a step that was asked for, or the one that was tried last. */
type Look = { step?: string; tried?: string };

/** The setup's page as it is now. It holds no secret. */
export async function setupPage(run: SetupRun, look: Look): Promise<Html> {
  // What changes from here on is shown by the next look.
  const { changes } = run;
  const tried = run.steps.find(({ id }) => id === (run.busy ?? look.tried)) ?? null;
  const isTriedDone = tried !== null && run.busy === null && isWell(run, tried);
  const asked = run.steps.find(({ id }) => id === look.step) ?? null;
  const shown = isTriedDone ? run.next() : (tried ?? asked ?? run.next());
  const first = await firstRequestOf(run);
  const version = versionText(changes, first);
  const body = shown === null ? lastPart(first) : await stepPart(run, shown);
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>Set up Docs Agent</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="setup.css" />
        <script src="setup.js" type="module"></script>
      </head>
      <body>
        <header><h1>Set up Docs Agent</h1></header>
        ${steps(run, shown)}
        <main data-version="${version}" ${run.busy === null ? "" : "data-busy"}>
          ${isTriedDone && tried !== null ? doneTry(run, tried) : ""} ${body}
        </main>
        <noscript><p>Load this page again to see how it goes on.</p></noscript>
      </body>
    </html>`;
}

/** Changes whenever the page would look different. */
export async function versionOf(run: SetupRun): Promise<string> {
  const { changes } = run;
  return versionText(changes, await firstRequestOf(run));
}

function versionText(changes: number, first: FirstRequest | null): string {
  return [changes, first?.status, first?.link].join(" ");
}

/** The first request in Slack, once every step is done. */
async function firstRequestOf(run: SetupRun): Promise<FirstRequest | null> {
  return run.next() === null ? await run.firstRequest() : null;
}

function isWell(run: SetupRun, { id }: SetupStep): boolean {
  const found = run.findings.get(id);
  return found !== undefined && found.every(({ level }) => level !== "fault");
}

function steps(run: SetupRun, shown: SetupStep | null): Html {
  const items = run.steps.map((step, index) => {
    const isDone = step.isDone(run.session);
    const mayOpen = isDone || run.steps.slice(0, index).every((each) => each.isDone(run.session));
    const words = html`<span aria-hidden="true">${isDone ? "✓" : index + 1}</span> ${step.title}${
        isDone ? html`<span class="unseen">, done</span>` : ""
      }`;
    const isShown = step.id === shown?.id;
    if (!mayOpen) return html`<li><span>${words}</span></li>`;
    return html`<li><a href="?step=${step.id}" ${isShown ? html`aria-current="step"` : ""}>${words}</a></li>`;
  });
  return html`<nav aria-label="Steps">
    <ol>
      ${items}
    </ol>
  </nav>`;
}

async function stepPart(run: SetupRun, step: SetupStep): Promise<Html> {
  const { session } = run;
  const isBusy = run.busy !== null;
  const words = await step.words(session);
  const found = run.findings.get(step.id) ?? [];
  return html`<section aria-labelledby="title">
    <h2 id="title" tabindex="-1">${step.title}</h2>
    ${words.map(wordsPart)} ${step.id === "repository" ? appPart(run) : ""}
    <form method="post" action="step/${step.id}" autocomplete="off">
      <fieldset ${isBusy ? "disabled" : ""}>
        <legend class="unseen">${step.title}</legend>
        ${run.fields(step).map(fieldPart)}
        <button>${isBusy ? "Trying…" : step.button}</button>
      </fieldset>
    </form>
    <div role="status">${isBusy ? html`<p>This may take a minute.</p>` : ""} ${findingsPart(found)}</div>
  </section>`;
}

function wordsPart({ text, link, paste }: StepWords, index: number): Html {
  return html`<p>
      ${text}
      ${
        link === undefined
          ? ""
          : html`<br /><a href="${link.url}" target="_blank" rel="noopener">${link.label}</a>`
      }
    </p>
    ${paste === undefined ? "" : pastePart(paste.label, paste.text, index)}`;
}

function pastePart(label: string, text: string, index: number): Html {
  return html`<details class="app">
    <summary>${label}</summary>
    <label class="unseen" for="paste-${index}">${label}</label>
    <textarea id="paste-${index}" rows="8" readonly>${text}</textarea>
  </details>`;
}

function fieldPart({ name, label, hint, kind, choices = [], initial = "", isOptional }: StepField): Html {
  const described = hint === undefined ? "" : html`aria-describedby="${name}-hint"`;
  const required = isOptional === true || kind === "choice" ? "" : "required";
  const input =
    kind === "choice"
      ? html`<select id="${name}" name="${name}" ${described}>
          ${choices.map(
            ({ value, label: text }) =>
              html`<option value="${value}" ${value === initial ? "selected" : ""}>${text}</option>`,
          )}
        </select>`
      : html`<input
          id="${name}"
          name="${name}"
          type="${kind === "secret" ? "password" : "text"}"
          value="${kind === "secret" ? "" : initial}"
          autocomplete="off"
          autocapitalize="off"
          spellcheck="false"
          ${required}
          ${described}
        />`;
  return html`<div class="field">
    <label for="${name}">${label}${isOptional === true ? " (may stay empty)" : ""}</label>
    ${input} ${hint === undefined ? "" : html`<p class="hint" id="${name}-hint">${hint}</p>`}
  </div>`;
}

/** The way to a GitHub App instead of a token. */
function appPart({ appWords, busy }: SetupRun): Html {
  if (appWords !== null) {
    return html`<div class="app" role="status">
      ${appWords.split("\n").map((line) => (line.trim() === "" ? "" : html`<p>${withLinks(line)}</p>`))}
    </div>`;
  }
  return html`<details class="app">
    <summary>Or make a GitHub App</summary>
    <p>An App is nobody's account. Its tokens live for an hour, and it can read checks.</p>
    <form method="post" action="app">
      <fieldset ${busy === null ? "" : "disabled"}>
        <legend class="unseen">GitHub App</legend>
        <div class="field">
          <label for="org">Organization (may stay empty for your own account)</label>
          <input id="org" name="org" type="text" autocomplete="off" spellcheck="false" />
        </div>
        <button>Make a GitHub App</button>
      </fieldset>
    </form>
  </details>`;
}

function withLinks(line: string): (Html | string)[] {
  return line
    .split(ADDRESS)
    .map((part) =>
      ADDRESS.test(part) ? html`<a href="${part}" target="_blank" rel="noopener">${part}</a>` : part,
    );
}

function doneTry(run: SetupRun, { id, title }: SetupStep): Html | string {
  const found = run.findings.get(id) ?? [];
  if (found.length === 0) return "";
  return html`<details class="done" ${found.some(({ level }) => level === "warn") ? "open" : ""}>
    <summary>${title}: all is well</summary>
    ${findingsPart(found)}
  </details>`;
}

function findingsPart(found: readonly DoctorFinding[]): Html | string {
  if (found.length === 0) return "";
  return html`<ul class="findings">
    ${found.map(
      ({ part, level, found: what, tried, todo }) =>
        html`<li class="${level}">
          <span class="mark" aria-hidden="true">${MARKS[level]}</span>
          <div>
            <strong>${part}<span class="unseen">, ${SPOKEN[level]}</span></strong> ${what}
            ${todo === null ? "" : html`<p class="todo">${todo}</p>`}
            <p class="hint">Tried: ${tried}</p>
          </div>
        </li>`,
    )}
  </ul>`;
}

function lastPart(first: FirstRequest | null): Html {
  return html`<section aria-labelledby="title">
    <h2 id="title" tabindex="-1">Ask for something in Slack</h2>
    <p>Both programs run. In Slack, open a channel and type:</p>
    <pre>/invite @docs-agent</pre>
    <pre>/docs-agent fix the typos in the README</pre>
    <div role="status">${firstPart(first)}</div>
    <p>
      The programs run as long as this command does. To keep them running without it, see "systemd" in
      docs/operate.md. <code>${commandOf("doctor")}</code> says at any time whether all is well.
    </p>
  </section>`;
}

function firstPart(first: FirstRequest | null): Html {
  if (first === null) return html`<p>Waiting for the first request…</p>`;
  if (first.link !== null && /^https?:\/\//.test(first.link)) {
    return html`<p class="ok">
      The first request is a pull request: <a href="${first.link}" rel="noopener">${first.link}</a>
    </p>`;
  }
  return html`<p>The first request is ${first.status}.</p>`;
}
