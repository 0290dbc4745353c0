import type { KnownBlock, ModalView, RichTextElement } from "@slack/types";
import type { WebClient } from "@slack/web-api";
import { z } from "zod";
import { idsIn, readableText, withNames } from "../rules/words/readable-text.ts";
import { isAskOnly } from "../rules/access.ts";
import { defaultWords } from "../rules/turn/request.ts";
import type { QuotedMessage, Segment, ThreadContext, ThreadMessage } from "../rules/turn/request.ts";
import { cut } from "../../shared/text/text.ts";
import {
  allSegments,
  contextOf,
  filesOf,
  withKnownFiles,
  withSegments,
  withheldAmong,
  without,
  withoutShown,
} from "../rules/thread/messages-to-share.ts";
import { within } from "../../shared/machine/ports.ts";
import { messageOf } from "../../shared/errors.ts";
import { context, unstyled, quotePart, type Rendered, richText, words } from "../messages/blocks.ts";
import { formNotOpenedMessage } from "../messages/private-messages.ts";
import type { ChosenBecause, ProjectChoice } from "../rules/project-choice.ts";
import { type Draft, knownLevel, type Write } from "../rules/records.ts";
import { DRAFT_KEPT_MS } from "../rules/decisions/accept.ts";
import { namesOf, type IntakeDeps } from "./deps.ts";
import { lookUpNames, withheldIn, withoutGuests, withoutGuestsShown } from "../gather/gather-context.ts";
import { knownOf, lookUpFiles } from "../gather/gather-files.ts";
import { nameOfChoice, projectBlock } from "./project-block.ts";
import { shareList } from "./share-list.ts";
import { waitingText } from "./waiting-text.ts";

export const REQUEST_FORM = "request_form";
export const INSTRUCTIONS = "instructions";

/** Slack's own limit for a text field. */
const FIELD_MAX_CHARS = 3000;
const SHOWN_MAX_CHARS = 2500;

/**
 * What a form carries back: the id of its draft, and the running turns that it has warned of. Their
 * field has an older name, because an open form outlives the version that opened it.
 */
const StoredMetadata = z.object({ draftId: z.string(), told: z.array(z.string()).default([]) });
export type FormMetadata = { draftId: string; warnedOf: string[] };

/** Throws if a form carries back something else. */
export function readFormMetadata(metadata: string): FormMetadata {
  const { draftId, told: warnedOf } = StoredMetadata.parse(JSON.parse(metadata));
  return { draftId, warnedOf };
}

function formMetadata({ draftId, warnedOf }: FormMetadata): string {
  return JSON.stringify({ draftId, ...(warnedOf.length === 0 ? {} : { told: warnedOf }) });
}

/**
 * What a form shows besides its draft. `asked` says who asked for the same before, and `waiting`
 * which pull requests wait for a review. `instructions` is what was typed so far.
 */
export type FormState = {
  warnedOf?: string[];
  asked?: KnownBlock[];
  waiting?: string;
  instructions?: string;
  /** True if the app only answers in the form's channel. */
  isAskOnly?: boolean;
  /** Why it begins with its project. */
  because?: ChosenBecause;
};

/**
 * Stores the draft, then opens the form. `sayNotOpened` tells the person if that fails. `triggerId`
 * lasts about three seconds, so there is no second try, and a thread is read only once the form is
 * open.
 */
export async function openRequestForm(
  deps: IntakeDeps,
  client: WebClient,
  sayNotOpened: (said: Rendered) => Promise<unknown>,
  form: { triggerId: string; choice: ProjectChoice; draft: Draft; state?: FormState | undefined },
): Promise<void> {
  const draftId = form.triggerId;
  let waiting = "";
  const viewOf = (draft: Draft) =>
    requestForm(draftId, draft, namesOf(deps.projects), nameOfChoice(form.choice), {
      ...form.state,
      isAskOnly: isAskOnly(deps.access, draft.channelId),
      waiting,
      ...(form.choice.kind === "chosen" && { because: form.choice.because }),
    });
  let asked = form.draft;
  let open: { id?: string; hash?: string } | undefined;
  try {
    if (asked.quoted !== null) asked = await shareable(deps, form.choice, asked, asked.quoted);
    await keepDraft(deps, draftId, asked);
    waiting = await waitingText(deps);
    ({ view: open } = await client.views.open({ trigger_id: form.triggerId, view: viewOf(asked) }));
  } catch (thrown) {
    deps.logger.error({ err: thrown }, "could not open the form");
    await sayNotOpened(formNotOpenedMessage);
    return;
  }
  const isWhole = asked.isThreadUnread !== true && !hasUnknownFiles(asked);
  if (isWhole || open?.id === undefined) return;
  try {
    const read = asked.isThreadUnread === true ? await withThread(deps, asked) : asked;
    const draft = await withLookedUp(deps, read);
    // Stored before the form shows it, because what the form shows can be sent.
    await keepDraft(deps, draftId, draft);
    await client.views.update({
      view_id: open.id,
      ...(open.hash === undefined ? {} : { hash: open.hash }),
      view: viewOf(draft),
    });
  } catch (thrown) {
    // The form may have been sent or closed meanwhile. Then only what it showed goes along.
    deps.logger.warn({ error: messageOf(thrown) }, "could not list a thread in the form");
  }
}

function keepDraft({ queue }: Pick<IntakeDeps, "queue">, id: string, record: Draft): Promise<void> {
  const draft: Write = { kind: "draft", id, record, ttlMs: DRAFT_KEPT_MS };
  return queue.commit(() => ({ writes: [draft], value: undefined }));
}

/** Without what the message shows of guests and of messages that nobody may share. */
async function shareable(
  deps: IntakeDeps,
  choice: ProjectChoice,
  draft: Draft,
  quoted: QuotedMessage,
): Promise<Draft> {
  const [offered, withheld, ofMembers] = await Promise.all([
    offeredAt(deps, choice),
    quoted.shows === undefined ? [] : withheldIn(deps, draft),
    withoutGuestsShown(deps, quoted),
  ]);
  const isWithheld = withheldAmong(withheld.filter((ts) => ts !== quoted.ts));
  const { message, ofGuests } = ofMembers;
  const context: ThreadContext = { messages: [], leftOut: 0, upTo: quoted.ts, ofGuests };
  return {
    ...draft,
    ...offered,
    quoted: withoutShown(message, isWithheld),
    ...(ofGuests === 0 ? {} : { context }),
  };
}

async function offeredAt(
  { records, projects }: IntakeDeps,
  choice: ProjectChoice,
): Promise<Pick<Draft, "takesFiles" | "quotesWordsOnly">> {
  const services = [...new Set(projects.map(({ service }) => service))];
  const known = await Promise.all(services.map((service) => records.get("service", service)));
  const levels = known.map(knownLevel);
  const begun = choice.kind === "chosen" ? levels[services.indexOf(choice.project.service)] : undefined;
  const quotesWordsOnly = levels.every((level) => (level ?? 0) >= 1);
  return {
    ...(begun === undefined ? {} : { takesFiles: begun >= 1 }),
    ...(quotesWordsOnly && { quotesWordsOnly }),
  };
}

function hasUnknownFiles(draft: Draft): boolean {
  return filesOf(draft).some(({ isPartial }) => isPartial === true);
}

/** How long a form waits for what Slack says of files. A request waits longer. */
const FILES_WITHIN_MS = 2_000;

async function withLookedUp(deps: IntakeDeps, draft: Draft): Promise<Draft> {
  const looked = await within(deps.clock, FILES_WITHIN_MS, lookUpFiles(deps, draft), new Map());
  return withKnownFiles(draft, knownOf(looked));
}

const THE_LAST = "9999999999.999999";

/** Adds the message's thread to the draft, as far as Slack lets us read it now. */
async function withThread(deps: IntakeDeps, kept: Draft): Promise<Draft> {
  const { isThreadUnread: _, ...draft } = kept;
  const { teamId, channelId, threadTs, quoted } = draft;
  if (threadTs === null || quoted === null) return draft;
  const read = await deps.threadReader.read({ channelId, threadTs }, { after: null, before: THE_LAST });
  if (!read.ok) return named(deps, { ...draft, quoted, context: { messages: [], leftOut: 0 } });
  // A result of ours says nothing about what is wrong.
  const messages = read.value.messages.filter(({ ts, isOwn }) => ts !== quoted.ts && isOwn !== true);
  // A person who picks a message directly may still share it.
  const withheld = (await withheldIn(deps, { teamId, channelId, threadTs })).filter((ts) => ts !== quoted.ts);
  const context = contextOf({ ...read.value, messages }, read.value.upTo ?? quoted.ts, withheld);
  const shared = without(context, withheldAmong(withheld));
  const ofMembers = await withoutGuests(deps, shared);
  const ofGuests = (ofMembers.ofGuests ?? 0) + (draft.context?.ofGuests ?? 0);
  return named(deps, {
    ...draft,
    quoted,
    context: { ...ofMembers, ...(ofGuests === 0 ? {} : { ofGuests }) },
  });
}

/** Adds the names of the people, channels and groups mentioned, so that the form can show them. */
async function named(
  deps: IntakeDeps,
  draft: Draft & { quoted: QuotedMessage; context: ThreadContext },
): Promise<Draft> {
  const { quoted, context } = draft;
  const segments = [...context.messages.toReversed(), quoted].flatMap(allSegments);
  const names = await lookUpNames(deps, idsIn(segments));
  const withTheirs = <T extends ThreadMessage>(message: T): T =>
    withSegments(message, (words) => withNames(words, names));
  return {
    ...draft,
    quoted: withTheirs(quoted),
    context: { ...context, messages: context.messages.map(withTheirs) },
  };
}

const CHANGE_TEXTS = {
  title: "Request a docs change",
  label: "What should change?",
  hint: "Name the page and what's wrong.",
  placeholder: defaultWords(false),
};
/** Where the app only answers. */
const ASK_TEXTS: typeof CHANGE_TEXTS = {
  title: "Ask about the docs",
  label: "What do you want to know?",
  hint: "I only answer here and change nothing.",
  placeholder: defaultWords(true),
};

/** The form: what should change, in which project, and the quoted message, if any. */
export function requestForm(
  draftId: string,
  draft: Draft,
  projects: string[],
  project: string | null,
  {
    warnedOf = [],
    asked = [],
    waiting = "",
    instructions,
    isAskOnly: isAsk = false,
    because,
  }: FormState = {},
): ModalView {
  const { quoted } = draft;
  const texts = isAsk
    ? ASK_TEXTS
    : quoted === null
      ? CHANGE_TEXTS
      : { ...CHANGE_TEXTS, title: "Fix these docs" };
  return {
    type: "modal",
    callback_id: REQUEST_FORM,
    title: unstyled(texts.title),
    submit: unstyled(warnedOf.length === 0 ? "Send" : "Start another"),
    close: unstyled("Cancel"),
    private_metadata: formMetadata({ draftId, warnedOf }),
    blocks: [
      ...asked,
      ...(waiting === "" ? [] : [context([waiting])]),
      ...(quoted === null ? [] : quotedBlocks(quoted)),
      ...shareList(draft),
      {
        type: "input",
        block_id: INSTRUCTIONS,
        // A picked message may say it all.
        ...(quoted === null ? {} : { optional: true }),
        label: unstyled(texts.label),
        hint: unstyled(quoted === null ? texts.hint : "Name the page if the message doesn't."),
        element: {
          type: "plain_text_input",
          action_id: INSTRUCTIONS,
          multiline: true,
          max_length: FIELD_MAX_CHARS,
          focus_on_load: true,
          ...(quoted === null ? {} : { placeholder: unstyled(texts.placeholder) }),
          ...(instructions === undefined ? {} : { initial_value: instructions }),
        },
      },
      ...(projects.length > 1 ? [projectBlock(projects, project, because)] : []),
    ],
  };
}

function quotedBlocks(quoted: QuotedMessage): KnownBlock[] {
  const elements = shown(allSegments(quoted));
  const author = quoted.authorId === null ? quoted.authorName || "an app" : null;
  return [
    author === null
      ? { type: "context", elements: [{ type: "mrkdwn", text: `<@${quoted.authorId}> wrote:` }] }
      : context([`${cut(author, 100)} wrote:`]),
    elements.length === 0 ? context(["This message has no text."]) : richText(quotePart(...elements)),
  ];
}

/** The message as the form shows it: people and channels by name, everything else as text. */
function shown(segments: Segment[]): RichTextElement[] {
  const elements: RichTextElement[] = [];
  let left = SHOWN_MAX_CHARS;
  for (const segment of segments) {
    if (left <= 0) break;
    for (const element of elementsOf(segment, left)) {
      left -= "text" in element && element.text !== undefined ? element.text.length : 20;
      elements.push(element);
    }
  }
  return elements;
}

function elementsOf(segment: Segment, max: number): RichTextElement[] {
  switch (segment.kind) {
    case "text":
      return cut(segment.text, max).split(CODE).flatMap(withCode);
    case "person":
      return [{ type: "user", user_id: segment.id }];
    case "channel":
      return [{ type: "channel", channel_id: segment.id }];
    case "group":
      return [words(cut(readableText([segment]), max))];
    case "link":
      return [words(cut(segment.label ?? segment.url, max))];
  }
}

/** Code as people type it. */
const CODE = /```\n?([^`]+?)\n?```|`([^`\n]+)`/;

/** A part that {@link CODE} splits a text into: plain text, or the code of a block or line. */
function withCode(part: string | undefined, index: number): RichTextElement[] {
  if (part === undefined || part === "") return [];
  return [words(part, index % 3 === 0 ? undefined : { code: true })];
}
