import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { KnownJob, KnownTurn } from "../../../src/app/rules/known-job.ts";
import { TurnOutcome } from "../../../src/shared/contract/turn.ts";
import type { Message, Refusal } from "../../../src/app/rules/ports/notifier.ts";
import { OutcomeKind, OutcomeReason, prLinkOf } from "../../../src/app/rules/turn/outcome.ts";
import type { Outcome } from "../../../src/app/rules/turn/outcome.ts";
import { AnswerResult, questionsAfter } from "../../../src/app/rules/thread/question.ts";
import { PROMPT_MAX_CHARS, Request } from "../../../src/app/rules/turn/request.ts";
import type { QuotedMessage } from "../../../src/app/rules/turn/request.ts";
import { progressOf, keptTurn } from "../../../src/app/rules/turn/reported-turn.ts";
import type { Turn, TurnStage } from "../../../src/app/rules/turn/turn.ts";
import { parseMessageText } from "../../../src/app/slack/message/message-text.ts";
import { requestForm } from "../../../src/app/intake/request-form.ts";
import type { AnyBlock } from "../../../world/slack/block-kit/blocks.ts";
import { blockTexts } from "../../../world/slack/block-kit/texts.ts";
import { richTextLines } from "../../../world/slack/block-kit/rich-text.ts";
import { mentionsIn } from "../../../world/slack/mentions.ts";
import { visibleText } from "../../../world/slack/index.ts";
import { parseView } from "../../../world/slack/validate-blocks.ts";
import { readContent } from "../../../world/slack/web-api/chat.ts";
import { MESSAGE_TEXT_MAX } from "../../../src/app/messages/blocks.ts";
import type { Presentation, TeamView } from "../../../src/app/messages/blocks.ts";
import { pullRequestLink } from "../../../src/app/messages/links.ts";
import { render } from "../../../src/app/messages/render.ts";
import { makeJob, makeReported, makeRequest, makeTurn } from "../../support/builders.ts";
import { JobStatus } from "../../../src/shared/contract/job.ts";

const ANA = "U0ANA";
const DOCS = "C0DOCS";

const markup = fc.constantFrom(
  "<!channel>",
  "<!here|here>",
  "<@U0VICTIM>",
  "<@U0VICTIM|Ana>",
  "<!subteam^S0WRITERS|@writers>",
  "<!date^1392734382^{date}^https://evil.example|now>",
  "<#C0SECRET|secret>",
  "<https://evil.example|the docs>",
  "<mailto:a@evil.example|a>",
  "https://evil.example/",
  "@here @channel",
  "&lt;!channel&gt;",
  "&amp;",
  "<",
  ">",
  "&",
  "|",
  "`",
  "```\n",
  "*",
  "\n",
  ">>> ",
  ":tada:",
  "\0",
  "\u202e",
  "\u2028",
  "😀",
  "\ud83d",
  "\ude00",
);
const halves = fc.nat(0xffff).map((unit) => String.fromCharCode(unit));
const short = fc.oneof(
  fc.string({ unit: markup, maxLength: 12 }),
  fc.string({ unit: fc.oneof(markup, halves, fc.string({ unit: "binary", maxLength: 3 })), maxLength: 20 }),
);
const long = fc
  .tuple(short, fc.integer({ min: 90, max: 6000 }))
  .map(([part, length]) => (part === "" ? "x" : part).repeat(Math.ceil(length / (part.length || 1))));
/** What a person types, a job service says, or something is called. */
const anyText = fc.oneof({ weight: 3, arbitrary: short }, { weight: 1, arbitrary: long });
/** What comes through the intake as a request. */
const instructions = anyText.map((text) => text.trim().slice(0, PROMPT_MAX_CHARS) || "x");

const links = fc.constantFrom(
  "https://github.com/acme/docs/pull/7",
  "https://gitlab.com/acme/docs/-/merge_requests/3?a=1&b=2&amp;lt;",
  `https://example.com/${"a".repeat(1950)}`,
  `https://example.com/?${"&".repeat(390)}`,
  `https://example.com/${"a".repeat(2950)}`,
);
const prLinks = fc.oneof(
  fc.constant(null),
  links,
  anyText,
  anyText.map((text) => `https://github.com/${text}`),
);

const jobs: fc.Arbitrary<KnownJob> = fc
  .record({
    id: anyText.map((text) => text || "job"),
    status: fc.constantFrom(...JobStatus.options),
    repository: fc.option(anyText),
    ref: fc.option(anyText),
    model: fc.option(anyText),
    prLink: prLinks,
  })
  .map((job) => makeJob(job));

const aways = fc.constantFrom(
  null,
  "not_in_channel",
  "channel_not_found",
  "is_archived",
  "thread_not_found",
  "message_not_found",
  "restricted_action",
);
const channels = fc.constantFrom(DOCS, "G0PRIVATE", "D0DIRECT");

const requests = fc
  .record({
    from: fc.constantFrom(...Request.shape.from.options),
    channelId: channels,
    project: anyText.map((name) => ({ service: "https://agents.example", id: "docs", name })),
    instructions,
    threadTs: fc.constantFrom(null, "1.000100"),
  })
  .map((request) => makeRequest({ ...request, userId: ANA }));

const durations = fc.oneof(fc.nat(), fc.double({ min: 0, max: 1e15, noNaN: true }));

/** What a service tells of a turn, as it is when it has been read. */
const reportedTurns: fc.Arbitrary<KnownTurn> = fc
  .record({
    outcome: fc.constantFrom(...TurnOutcome.options),
    reason: fc.option(anyText),
    summary: fc.option(anyText),
    branch: fc.option(anyText),
    pullRequest: fc.option(
      fc.record({
        url: prLinks.map((link) => link ?? ""),
        title: anyText,
        files: fc.option(fc.nat()),
        additions: fc.option(fc.nat()),
        deletions: fc.option(fc.nat()),
        headRef: anyText,
        isDraft: fc.boolean(),
      }),
    ),
    answer: fc.option(anyText),
    checks: fc.array(
      fc.record({
        name: anyText,
        result: fc.constantFrom("passed", "failed", "unchanged", "not-checked"),
        findings: fc.array(anyText, { maxLength: 3 }),
      }),
      { maxLength: 8 },
    ),
    claims: fc.option(fc.record({ total: fc.nat(), verified: fc.nat() })),
    notes: fc.array(anyText, { maxLength: 8 }),
  })
  .map(({ pullRequest, ...turn }) =>
    makeReported({
      ...turn,
      pullRequest: pullRequest && { ...makeReported().pullRequest!, ...pullRequest },
    }),
  );
const reportParts = fc.option(reportedTurns, { nil: undefined }).map((reported) => {
  const report = keptTurn(reported ?? null);
  return report === undefined ? {} : { told: report };
});

function outcomesOf(kind: fc.Arbitrary<OutcomeKind>): fc.Arbitrary<Outcome> {
  const outcomes = fc.record({
    kind,
    reason: fc.constantFrom(null, ...OutcomeReason.options),
    said: fc.option(anyText),
    job: fc.option(jobs),
    tookMs: durations,
  });
  return fc.tuple(outcomes, reportParts).map(([outcome, parts]) => ({ ...outcome, ...parts }));
}

const stages: fc.Arbitrary<TurnStage> = fc.oneof(
  fc.record({ name: fc.constant("accepted" as const), waitingSince: fc.constantFrom(null, 5) }),
  fc.record({
    name: fc.constant("submitting" as const),
    waitingSince: fc.constantFrom(null, 5),
    isRepeat: fc.boolean(),
  }),
  fc
    .record({ since: fc.constant(1), troubleSince: fc.constantFrom(null, 5), step: anyText })
    .map(({ step, ...stage }) => {
      const progress = progressOf(makeReported({ status: "running", step }), 1);
      return { name: "watching" as const, ...stage, ...(progress === undefined ? {} : { progress }) };
    }),
  fc.record({
    name: fc.constant("ended" as const),
    outcome: outcomesOf(fc.constantFrom(...OutcomeKind.options)),
    at: fc.constant(9),
  }),
);

const turns: fc.Arbitrary<Turn> = fc
  .record({ request: requests, stage: stages, watch: fc.integer({ min: 1, max: 50 }) })
  .map((turn) => makeTurn(turn));

type View = Presentation & TeamView;

const views: fc.Arbitrary<View> = fc.record({
  botName: anyText,
  teamUrl: fc.oneof(fc.constant("https://example.slack.com/"), anyText),
  projects: fc.array(anyText, { minLength: 1, maxLength: 3 }),
  watchedFor: fc.constantFrom("1 day", "45 s", "2 h 5 min"),
  contact: fc.constantFrom("your Docs Agent admin", "<@U0ADMIN>", "<#C0HELP>"),
  httpOrigins: fc.constant([]),
  asksForProject: fc.boolean(),
  isAskOnly: fc.constant(() => false),
});

const times = fc.integer({ min: Date.UTC(2026, 0, 1), max: Date.UTC(2040, 0, 1) });

const manyNames = fc.array(
  anyText.map((text) => text.slice(0, 150)),
  { minLength: 1, maxLength: 100, size: "max" },
);

/** What Slack shows and whom it notifies, checked as `chat.postMessage` checks it, on the wire. */
function post(message: Message, view: View) {
  const rendered = render(message, view, view);
  return readContent({ text: rendered.text, blocks: JSON.parse(JSON.stringify(rendered.blocks)) });
}

/** Everything in angle brackets where Slack reads markup. */
function controls(markupText: string): string[] {
  return markupText.match(/<[^<>]*>?|>/g) ?? [];
}

/** Where every link leads that a person could press. */
function linksIn(blocks: readonly AnyBlock[]): string[] {
  return blocks.flatMap((block) => {
    if (block.type === "actions") {
      return block.elements.flatMap((element) =>
        element.type === "button" && element.url !== undefined ? [element.url] : [],
      );
    }
    if (block.type !== "rich_text") return [];
    return richTextLines(block)
      .flat()
      .flatMap((element) => (element.type === "link" ? [element.url] : []));
  });
}

/** Slack makes links and mentions by itself of what looks like one in mrkdwn that is not `verbatim`. */
function isLeftAlone(block: AnyBlock): boolean {
  if (block.type === "input" && block.element.type === "checkboxes") {
    return block.element.options.every(({ text }) => text.type !== "mrkdwn" || text.verbatim === true);
  }
  return block.type !== "section" || block.text?.type !== "mrkdwn" || block.text.verbatim === true;
}

/**
 * What is wrong with a message: Slack refuses it, or something in it is markup that is not ours: the requester, the channel, the
 * pull request's link, and, where an operator has to help, the contact. Without its blocks too, which is how it goes out should Slack ever refuse them.
 */
function faultsOf(
  message: Message,
  view: View,
  allowed: { requester: string | null; prLink: string | null; time?: string; isContactNamed?: boolean },
): string[] {
  const { text, blocks = [] } = post(message, view);
  const faults: string[] = [];
  if (text === "" || blocks.length === 0) faults.push("it says nothing");
  if (text.length > MESSAGE_TEXT_MAX) faults.push(`the text has ${text.length} characters`);

  const { requester } = allowed;
  const contact = allowed.isContactNamed === true ? view.contact : null;
  const mentions = requester === null ? "" : `@${requester}`;
  // Slack notifies by the blocks; without them, by the text.
  for (const mentioned of [mentionsIn({ text, blocks }), mentionsIn({ text })]) {
    const others = mentioned.filter((name) => `<${name}>` !== contact);
    if (others.join() !== mentions) faults.push(`it notifies ${mentioned.join()}`);
  }

  const link = allowed.prLink === null ? null : pullRequestLink(allowed.prLink);
  const escapedUrl = link?.url.replaceAll("&", "&amp;");
  const ours = [
    `<@${requester}>`,
    ...[DOCS, "G0PRIVATE", "D0DIRECT"].map((id) => `<#${id}>`),
    ...(link === null ? [] : [`<${escapedUrl}>`, `<${escapedUrl}|${link.label}>`]),
    ...(allowed.time === undefined ? [] : [allowed.time]),
    ...(contact === null ? [] : [contact]),
  ];
  for (const part of [{ text, isMarkup: true }, ...blocks.flatMap(blockTexts)]) {
    if (!part.text.isWellFormed()) faults.push(`half a character in ${part.text}`);
    if (!part.isMarkup) continue;
    const foreign = controls(part.text).filter(
      (control) => !ours.some((known) => isSameUpToCut(control, known)),
    );
    faults.push(...foreign.map((control) => `markup that is not ours: ${control}`));
    if (/&(?!amp;|lt;|gt;)/.test(part.text)) faults.push(`a bare ampersand in ${part.text}`);
  }
  if (!blocks.every(isLeftAlone)) faults.push("Slack would make links and mentions of names");
  const foreignLinks = linksIn(blocks).filter((url) => url !== link?.url);
  return [...faults, ...foreignLinks.map((url) => `a link to ${url}`)];
}

/** The one token that a refusal may carry: when to try again, to the minute, as Slack shows it to each reader. */
function timeIn(refusal: Refusal): { time?: string } {
  if (refusal.kind !== "too-many") return {};
  const seconds = Math.ceil(refusal.againAtMs / 60_000) * 60;
  const utc = new Date(seconds * 1000).toISOString().slice(11, 16);
  return { time: `<!date^${seconds}^{time}|${utc} UTC>` };
}

/** The pull request that a status message names. */
function linkOf({ stage }: Turn): string | null {
  return stage.name === "ended" ? prLinkOf(stage.outcome) : null;
}

/** A long label is cut. */
function isSameUpToCut(control: string, known: string): boolean {
  return control === known || (control.endsWith("…>") && known.startsWith(control.slice(0, -2)));
}

describe("whatever is typed, said or named, Slack takes it and nobody but the requester and the contact is notified:", () => {
  it.each(Request.shape.from.options)("the status of a request from a %s", (from) => {
    fc.assert(
      fc.property(turns, aways, views, (turn, away, view) => {
        const asked = { ...turn, request: { ...turn.request, from } };
        const message = { kind: "status", turn: asked, movedBecause: away } as const;
        expect(faultsOf(message, view, { requester: ANA, prLink: linkOf(turn) })).toEqual([]);
      }),
    );
  });

  it("the status of a follow-up, and one that shows follow-ups besides", () => {
    const followUps = fc.tuple(turns, fc.boolean()).map(([turn, isStartedAnew]): Turn => ({
      ...turn,
      isStartedAnew,
      request: {
        ...turn.request,
        from: "mention",
        ...(isStartedAnew ? {} : { follows: { turnId: "command:1" } }),
      },
    }));
    const shown = fc.array(followUps, { maxLength: 8 });
    fc.assert(
      fc.property(fc.oneof(turns, followUps), shown, aways, views, (turn, others, away, view) => {
        const message = { kind: "status", turn, followUps: others, movedBecause: away } as const;
        const prLinks = [turn, ...others].map(linkOf).flatMap((link) => pullRequestLink(link ?? "") ?? []);
        const faults = faultsOf(message, view, { requester: ANA, prLink: null }).filter(
          (fault) => !prLinks.some(({ url }) => fault === `a link to ${url}`),
        );
        // It names whoever asked as often as they did, and not where the thread shows it.
        expect(faults.filter((fault) => !/^it notifies (?:@U0ANA,?)*$/.test(fault))).toEqual([]);
      }),
    );
  });

  it("a list of requests, and how they stand", () => {
    const url = "https://acme.slack.com/archives/C0DOCS/p1795282577290377";
    const listed = fc.array(fc.tuple(turns, fc.boolean()), { minLength: 1, maxLength: 10 });
    fc.assert(
      fc.property(listed, times, fc.constantFrom("person", "channel"), views, (asked, at, of, view) => {
        const page = asked.map(([turn, isOpen]) => ({
          turn: { ...turn, request: { ...turn.request, receivedAt: at } },
          url: isOpen ? url : null,
        }));
        const flags = { isPartial: at % 2 === 0, isHiding: at % 3 === 0 };
        const list = { kind: "list", of, turns: page, from: 10, hasOlder: true, now: at, ...flags } as const;
        const project = { ...makeRequest().project, name: view.projects[0] ?? "" };
        const overview = {
          kind: "overview",
          own: { running: 1, waiting: 2 },
          channel: null,
          contacts: [{ project, isUp: at % 2 === 0, since: at, at }],
          trouble: { ...page[0]!, at, now: at },
          isPartial: flags.isPartial,
        } as const;
        const prs = asked.flatMap(([{ stage }]) =>
          stage.name === "ended" ? (prLinkOf(stage.outcome) ?? []) : [],
        );
        const links = [url, ...prs.flatMap((link) => pullRequestLink(link)?.url ?? [])];
        const faults = [list, overview].flatMap((message) =>
          faultsOf(message, view, { requester: null, prLink: null }),
        );
        expect(
          faults.filter(
            (fault) =>
              // It names whoever asked, to one person alone.
              !/^it notifies (?:@U0ANA,?)+$/.test(fault) &&
              !["<@U0ANA>", "<#C1>"].some((ours) => fault === `markup that is not ours: ${ours}`) &&
              !/^markup that is not ours: <!date\^\d+\^(?:\{date_short_pretty\} at )?\{time\}\|(?:[\d-]+, )?[\d:]+ UTC>$/.test(
                fault,
              ) &&
              !links.some((link) => fault === `a link to ${link}`),
          ),
        ).toEqual([]);
      }),
    );
  });

  it("the outcome of a follow-up", () => {
    fc.assert(
      fc.property(turns, outcomesOf(fc.constant("pull-request")), aways, views, (turn, last, away, view) => {
        const prLink = prLinkOf(last);
        const outcome = prLink === null ? last : { ...last, prBefore: prLink };
        const message = { kind: "outcome", turn, outcome, watch: turn.watch, movedBecause: away } as const;
        expect(faultsOf(message, view, { requester: ANA, prLink })).toEqual([]);
      }),
    );
  });

  it("a question, open, closed, or answered by the requester", () => {
    const told = fc.record({
      text: anyText,
      choices: fc.array(fc.record({ id: anyText, label: anyText }), { maxLength: 30 }),
      allowsText: fc.boolean(),
    });
    const ends = fc.oneof(
      fc.constant({}),
      fc.record({ closed: fc.constantFrom("unanswered" as const, "elsewhere" as const) }),
      fc
        .record({
          userId: fc.constant(ANA),
          choiceId: fc.option(anyText),
          words: anyText.map((text) => text.slice(0, 3000) || "x"),
          result: fc.constantFrom(...AnswerResult.options),
        })
        .map((answer) => ({ answer })),
    );
    const common = { id: "q", turn: 1, answeredAt: null };
    fc.assert(
      fc.property(turns, told, ends, aways, views, (turn, asked, end, away, view) => {
        const [open] = questionsAfter([], [{ ...common, ...asked }]);
        const question = { ...open!, ...end };
        const message = { kind: "question", turn, question, movedBecause: away } as const;
        const requester = "closed" in end ? null : ANA;
        expect(faultsOf(message, view, { requester, prLink: null, isContactNamed: true })).toEqual([]);
      }),
    );
  });

  it.each(OutcomeKind.options)("the outcome %s", (kind) => {
    const isContactNamed = ["failed", "unknown", "rejected"].includes(kind);
    fc.assert(
      fc.property(turns, outcomesOf(fc.constant(kind)), aways, views, (turn, outcome, away, view) => {
        const message = { kind: "outcome", turn, outcome, watch: turn.watch, movedBecause: away } as const;
        const allowed = { requester: ANA, prLink: prLinkOf(outcome), isContactNamed };
        expect(faultsOf(message, view, allowed)).toEqual([]);
      }),
    );
  });

  it("an outcome of every kind and reason, with and without everything it can carry", () => {
    const view = {
      botName: "docs<!here>",
      teamUrl: "https://example.slack.com/",
      projects: ["docs"],
      watchedFor: "1 day",
      contact: "your Docs Agent admin",
      httpOrigins: [],
      asksForProject: false,
      isAskOnly: () => false,
    };
    const evil = "<!channel> <@U0VICTIM> <https://evil.example|x> & https://evil.example 😀".repeat(60);
    const named = { id: evil, repository: evil, ref: evil, model: evil };
    const empty = { repository: "", ref: null, model: "" };
    const link = `https://example.com/${"a".repeat(1980)}`;
    const everyJob = [
      null,
      ...[named, empty].flatMap((job) =>
        [null, link, "http://evil.example", evil].map((prLink) => makeJob({ ...job, prLink })),
      ),
    ];
    const described = {
      ...makeReported().pullRequest!,
      title: evil,
      headRef: evil,
      url: link,
      isDraft: true,
    };
    const checks = Array.from({ length: 20 }, (_, n) => ({
      name: evil,
      result: n % 2 === 0 ? ("failed" as const) : ("not-checked" as const),
      findings: Array.from({ length: 20 }, () => evil),
    }));
    const reports = TurnOutcome.options.map((ending) =>
      keptTurn(
        makeReported({
          outcome: ending,
          reason: evil,
          summary: `${evil}\n`.repeat(20),
          branch: evil,
          pullRequest: described,
          answer: evil.repeat(5),
          checks,
          claims: { total: 200, verified: 199 },
          notes: Array.from({ length: 20 }, () => evil),
        }),
      ),
    );
    const carried = [
      [null, null, null],
      [evil, null, null],
      ["", "is_archived", null],
      [evil, "not_in_channel", null],
    ] as const;
    // No words depend on both a reason and a report.
    const told = [...carried, ...reports.map((report) => [null, "is_archived", report ?? null] as const)];
    const request = makeRequest({ userId: ANA, channelId: DOCS, instructions: evil.slice(0, 4000) });
    for (const kind of OutcomeKind.options) {
      for (const reason of [null, ...OutcomeReason.options]) {
        for (const job of everyJob) {
          for (const [said, away, report] of reason === null ? told : carried) {
            const outcome = {
              kind,
              reason,
              said,
              job,
              tookMs: 65_000,
              ...(report === null ? {} : { told: report }),
            };
            const turn = makeTurn({ request, stage: { name: "ended", outcome, at: 9 } });
            const message = { kind: "outcome", turn, outcome, watch: 1, movedBecause: away } as const;
            expect(faultsOf(message, view, { requester: ANA, prLink: prLinkOf(outcome) })).toEqual([]);
            const status = { kind: "status", turn, movedBecause: away } as const;
            expect(faultsOf(status, view, { requester: ANA, prLink: prLinkOf(outcome) })).toEqual([]);
          }
        }
      }
    }
  });

  it("the help", () => {
    fc.assert(
      fc.property(views, manyNames, (view, projects) => {
        expect(faultsOf({ kind: "help" }, { ...view, projects }, { requester: null, prLink: null })).toEqual(
          [],
        );
      }),
    );
  });

  it("a refusal", () => {
    const refusals = fc.oneof(
      fc.record({
        kind: fc.constant("too-long" as const),
        length: fc.nat(),
        limit: fc.constant(PROMPT_MAX_CHARS),
        typed: fc.option(fc.oneof(anyText, fc.constant("<!channel>".repeat(2000))), { nil: undefined }),
      }),
      fc.record({
        kind: fc.constant("unknown-project" as const),
        name: anyText,
        known: manyNames,
      }),
      fc.record({
        kind: fc.constant("too-many" as const),
        scope: fc.constantFrom("person", "channel"),
        limit: fc.nat(),
        againAtMs: times,
      }),
    );
    fc.assert(
      fc.property(refusals, views, (refusal, view) => {
        const allowed = { requester: null, prLink: null, ...timeIn(refusal) };
        expect(faultsOf({ kind: "refused", refusal }, view, allowed)).toEqual([]);
      }),
    );
  });

  it("how to invite the app", () => {
    fc.assert(
      fc.property(channels, aways, views, (channelId, error, view) => {
        const message = { kind: "invite-me", channelId, error: error ?? "fatal_error" } as const;
        expect(faultsOf(message, view, { requester: null, prLink: null })).toEqual([]);
      }),
    );
  });

  it("that something was given up", () => {
    const types = fc.oneof(fc.constantFrom("open", "deliver", "submit", "poll"), anyText);
    fc.assert(
      fc.property(anyText, types, channels, views, (taskId, taskType, channelId, view) => {
        const message = { kind: "gave-up", taskId, taskType, channelId } as const;
        const allowed = { requester: null, prLink: null, isContactNamed: true };
        expect(faultsOf(message, view, allowed)).toEqual([]);
      }),
    );
  });
});

describe("lists of projects", () => {
  const projects = Array.from({ length: 100 }, (_, index) => `${index}-`.padEnd(40, "x"));
  const view = {
    botName: "docs",
    teamUrl: "https://example.slack.com/",
    projects,
    watchedFor: "1 day",
    contact: "your Docs Agent admin",
    httpOrigins: [],
    asksForProject: false,
    isAskOnly: () => false,
  };

  it("name as many as there is room for, and count the rest", () => {
    const known = { kind: "unknown-project", name: "nope", known: projects } as const;
    for (const message of [{ kind: "help" }, { kind: "refused", refusal: known }] as const) {
      const shown = visibleText(post(message, view));
      const named = projects.filter((name) => shown.includes(name));
      expect(named.length).toBeGreaterThan(40);
      expect(shown).toContain(`and ${100 - named.length} more`);
    }
  });

  it("name all of a few", () => {
    const few = { ...view, projects: ["docs", "api", "handbook"] };
    expect(visibleText(post({ kind: "help" }, few))).toContain(
      "picks a project: `docs`, `api`, `handbook`; the first",
    );
  });
});

describe("the form", () => {
  const projectNames = fc.uniqueArray(fc.stringMatching(/^[a-zA-Z0-9][a-zA-Z0-9_-]{0,39}$/), {
    minLength: 1,
    maxLength: 100,
    size: "max",
  });
  const quotedMessages: fc.Arbitrary<QuotedMessage> = fc.record({
    segments: anyText.map(parseMessageText),
    authorId: fc.constantFrom(null, "U0BEN", "W0BEN"),
    authorName: fc.option(anyText),
    channelId: channels,
    ts: fc.constant("1.000100"),
    threadTs: fc.constantFrom(null, "1.000100"),
  });

  /** Over the message, and beside its checkbox: no other markup. */
  const authorMarkup =
    /^(?:<@[UW]0BEN> wrote:|(?:<@[UW]0BEN>|[^<>]+), <!date\^\d+\^\{date_short\} \{time\}\|\d\d:\d\d UTC>)$/;

  it("opens for any message, with up to 100 projects, and nothing in it is a link or a broadcast", () => {
    fc.assert(
      fc.property(fc.option(quotedMessages), projectNames, fc.nat(), (quoted, projects, pick) => {
        const draft = {
          version: 1,
          from: quoted === null ? "command" : "shortcut",
          teamId: "T1",
          channelId: DOCS,
          threadTs: null,
          quoted,
          responseUrl: null,
        } as const;
        const chosen = projects[pick % projects.length] ?? "";
        const form = requestForm("1234.5678.abcdef", draft, projects, chosen);
        const { blocks } = parseView(JSON.parse(JSON.stringify(form)));
        expect(linksIn(blocks)).toEqual([]);
        const people = quoted?.segments.flatMap((part) => (part.kind === "person" ? [`@${part.id}`] : []));
        const known = new Set([`@${quoted?.authorId}`, ...(people ?? [])]);
        for (const mention of blocks.flatMap((block) => mentionsIn({ text: "", blocks: [block] }))) {
          expect(known).toContain(mention);
        }
        for (const { text, isMarkup } of blocks.flatMap(blockTexts)) {
          expect(text.isWellFormed()).toBe(true);
          if (!isMarkup) continue;
          expect(text).toMatch(authorMarkup);
          expect(text).not.toMatch(/&(?!amp;|lt;|gt;)/);
        }
        expect(blocks.every(isLeftAlone)).toBe(true);
      }),
    );
  });

  /** What a person reads in the form for a message. */
  function readForm(text: string, authorName: string): string[] {
    const quoted: QuotedMessage = {
      segments: parseMessageText(text),
      authorId: null,
      authorName,
      channelId: DOCS,
      ts: "1.000100",
      threadTs: null,
    };
    const draft = {
      version: 1,
      from: "shortcut",
      teamId: "T1",
      channelId: DOCS,
      threadTs: null,
      quoted,
      responseUrl: null,
    } as const;
    const { blocks } = parseView(requestForm("1.2", draft, ["docs", "api"], "api"));
    return visibleText({ text: "", blocks }, (id) => (id === "U0BEN" ? "Ben" : undefined)).split("\n");
  }

  it("shows the message as its readers see it", () => {
    expect(
      readForm("<@U0BEN> &lt;b&gt; <!here> <https://x.test|the guide> <#C0DOCS>", "Build <!channel>"),
    ).toEqual([
      "Build <!channel> wrote:",
      "@Ben <b> @here the guide #C0DOCS",
      "The agent will see the message above, and the pull request may quote it.",
      "What should change?",
      "Project",
    ]);
  });

  it("says so where the message has no text, and no author's name", () => {
    expect(readForm("", "").slice(0, 2)).toEqual(["an app wrote:", "This message has no text."]);
  });
});
