import type { App, BlockAction, ButtonAction } from "@slack/bolt";
import type { ModalView } from "@slack/types";
import { asItsChannelAllows, isAskOnly } from "../rules/access.ts";
import { sameRequest, type SameRequest } from "../rules/thread/same-request.ts";
import type { Request } from "../rules/turn/request.ts";
import type { Draft } from "../rules/records.ts";
import { ACTIONS, buttonValue } from "../messages/actions.ts";
import { actions, unstyled, section } from "../messages/blocks.ts";
import { addToIt, askedBeforeText, followIt } from "../messages/private-messages.ts";
import { FOLLOWING, FOLLOWING_NEWS } from "../messages/short-answers.ts";
import { channelsOf } from "./accept-request.ts";
import { namesOf, type IntakeDeps } from "./deps.ts";
import { following } from "./status-buttons.ts";
import { answerPress, answerTo } from "./press.ts";
import { nameOfChoice } from "./project-block.ts";
import { projectFor } from "./choose-project.ts";
import { type FormState, readFormMetadata, requestForm } from "./request-form.ts";
import { waitingText } from "./waiting-text.ts";
import type { TickedValues } from "./share-list.ts";

/**
 * The beginning of a form when somebody asked for the same, and that runs or its pull request is
 * open: who asked, when, and buttons to follow it or to add to it instead.
 */
export function askedBefore(
  { clock, httpOrigins }: Pick<IntakeDeps, "clock" | "httpOrigins">,
  { turn, mayAdd }: SameRequest,
  userId: string,
  warnedOf: readonly string[] = [],
): FormState {
  const { request } = turn;
  const who = request.userId === userId ? null : `<@${request.userId}>`;
  const text = section(askedBeforeText(turn, who, clock.now() - request.receivedAt, { httpOrigins }));
  // The requester is mentioned without that.
  const follow = who === null ? null : followIt(turn);
  const buttons = [...(mayAdd ? [addToIt(turn)] : []), ...(follow === null ? [] : [follow])];
  const isAside = follow !== null && buttons.length === 1;
  return {
    warnedOf: [...warnedOf, turn.id],
    asked: isAside
      ? [{ ...text, accessory: follow }]
      : [text, ...(buttons.length === 0 ? [] : actions(buttons))],
  };
}

/**
 * Like {@link askedBefore}, for a draft's message and thread. Undefined if nobody asked, or that
 * can't be read now. It is checked again when the form is sent.
 */
export async function stateOfAsked(
  deps: IntakeDeps,
  draft: Draft,
  userId: string,
): Promise<FormState | undefined> {
  try {
    const request = requestOfDraft(deps, draft, userId);
    const look = (channels?: ReadonlySet<string>) =>
      deps.queue.read((read) =>
        sameRequest(deps, read, request, { warnedOf: [], ...(channels && { channels }) }),
      );
    const first = await look();
    const same = first === "elsewhere" ? await look(await channelsOf(deps, userId)) : first;
    return same === undefined || same === "elsewhere" ? undefined : askedBefore(deps, same, userId);
  } catch (thrown) {
    deps.logger.warn({ err: thrown }, "could not look for an earlier request");
    return undefined;
  }
}

/** Handles **Follow it**, which completes the form or message that the button is in. */
export function registerFollowIt(app: App, deps: IntakeDeps): void {
  app.action<BlockAction<ButtonAction>>(ACTIONS.followIt, async (press) => {
    const { action, body, client, respond } = press;
    const answer = await answerTo(deps, buttonValue.read(action.value), ({ turnId }) =>
      deps.queue.commit((read) => following(deps, read, turnId, body.user.id)),
    );
    await press.ack();
    if (body.view === undefined) {
      if (!isFollowing(answer)) return answerPress(deps, press, answer);
      return void (await respond({ text: answer, response_type: "ephemeral", replace_original: true }));
    }
    const { id, hash, state, private_metadata: metadata } = body.view;
    try {
      const view = isFollowing(answer)
        ? textView(answer)
        : await formWithNote(deps, metadata, answer, body.user.id);
      await client.views.update({ view_id: id, hash, view: asTicked(view, state.values) });
    } catch (thrown) {
      deps.logger.warn({ err: thrown }, "could not say in a form that its request is followed");
    }
  });
}

function isFollowing(answer: string): boolean {
  return answer === FOLLOWING || answer === FOLLOWING_NEWS;
}

/** The request that a draft would be, without words and so in any project. */
function requestOfDraft({ access, clock, projects }: IntakeDeps, draft: Draft, userId: string): Request {
  const { from, teamId, channelId, threadTs, quoted, responseUrl } = draft;
  const place = { from, teamId, channelId, threadTs, quoted, responseUrl };
  const of = { id: "draft", ...place, userId, project: projects[0] };
  return asItsChannelAllows(access, { ...of, instructions: "", receivedAt: clock.now() });
}

/** The same form with another beginning. It keeps what was typed. */
export async function formWithNote(
  deps: IntakeDeps,
  metadata: string,
  answer: string,
  userId: string,
): Promise<ModalView> {
  const { draftId, warnedOf } = readFormMetadata(metadata);
  const draft = await deps.records.get("draft", draftId);
  if (draft === undefined) return textView(answer);
  const state = {
    warnedOf,
    asked: [section(answer)],
    waiting: await waitingText(deps),
    isAskOnly: isAskOnly(deps.access, draft.channelId),
  };
  // Slack keeps the project that is chosen in the form.
  const choice = await projectFor(deps, { ...draft, userId }, null);
  return requestForm(draftId, draft, namesOf(deps.projects), nameOfChoice(choice), state);
}

/**
 * Carries the ticks of a form over to the one that replaces it, so that nothing a person unticked
 * is ticked again.
 */
export function asTicked(view: ModalView, values: TickedValues): ModalView {
  return { ...view, blocks: view.blocks.map((block) => blockAsTicked(block, values)) };
}

type ViewBlock = ModalView["blocks"][number];

function blockAsTicked(block: ViewBlock, values: TickedValues): ViewBlock {
  if (block.type !== "input" || !("element" in block) || block.element.type !== "checkboxes") return block;
  const { initial_options: _, ...element } = block.element;
  const was = values[block.block_id ?? ""]?.[element.action_id ?? ""];
  if (was === undefined) return block;
  const ticked = new Set((was.selected_options ?? []).map(({ value }) => value));
  const initial = element.options.filter(({ value }) => ticked.has(value));
  // Slack doesn't accept an empty list.
  return { ...block, element: { ...element, ...(initial.length === 0 ? {} : { initial_options: initial }) } };
}

/** A form that only says something. */
export function textView(text: string): ModalView {
  return {
    type: "modal",
    title: unstyled("Fix these docs"),
    close: unstyled("Close"),
    blocks: [section(text)],
  };
}
