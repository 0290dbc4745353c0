import type { App, BlockAction, ButtonAction } from "@slack/bolt";
import type { ModalView } from "@slack/types";
import { runningInThread } from "../rules/thread/follow-up.ts";
import type { Draft } from "../rules/records.ts";
import type { Turn } from "../rules/turn/turn.ts";
import { ACTIONS, buttonValue } from "../messages/actions.ts";
import { unstyled, section } from "../messages/blocks.ts";
import { askedBeforeText, followIt } from "../messages/private-messages.ts";
import { FOLLOWING } from "../messages/short-answers.ts";
import { namesOf, type IntakeDeps } from "./deps.ts";
import { following } from "./status-buttons.ts";
import { answerPress, answerTo } from "./press.ts";
import { type FormState, readFormMetadata, requestForm } from "./request-form.ts";
import type { TickedValues } from "./share-list.ts";

/**
 * The beginning of a form when a turn for the same request is already running: who asked, when, and
 * a button to follow that turn instead.
 */
export function askedBefore(
  { clock }: Pick<IntakeDeps, "clock">,
  turn: Turn,
  userId: string,
  warnedOf: readonly string[] = [],
): FormState {
  const { request } = turn;
  const who = request.userId === userId ? "You" : `<@${request.userId}>`;
  const text = askedBeforeText(who, clock.now() - request.receivedAt);
  return { warnedOf: [...warnedOf, turn.id], asked: [{ ...section(text), accessory: followIt(turn) }] };
}

/**
 * Like {@link askedBefore}, for a draft's thread. Undefined if nothing is running there or it can't
 * be read now. It is checked again when the form is sent.
 */
export async function stateOfAsked(
  deps: IntakeDeps,
  draft: Draft,
  userId: string,
): Promise<FormState | undefined> {
  try {
    const running = await deps.queue.read((read) => runningInThread(read, draft));
    return running === undefined ? undefined : askedBefore(deps, running, userId);
  } catch (thrown) {
    deps.logger.warn({ err: thrown }, "could not look for a request that runs");
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
      if (answer !== FOLLOWING) return answerPress(deps, press, answer);
      return void (await respond({ text: answer, response_type: "ephemeral", replace_original: true }));
    }
    const { id, hash, state, private_metadata: metadata } = body.view;
    try {
      const view = answer === FOLLOWING ? textView(answer) : await formWithNote(deps, metadata, answer);
      await client.views.update({ view_id: id, hash, view: asTicked(view, state.values) });
    } catch (thrown) {
      deps.logger.warn({ err: thrown }, "could not say in a form that its request is followed");
    }
  });
}

/** The same form with another beginning. It keeps what was typed. */
async function formWithNote(deps: IntakeDeps, metadata: string, answer: string): Promise<ModalView> {
  const { draftId, warnedOf } = readFormMetadata(metadata);
  const draft = await deps.records.get("draft", draftId);
  if (draft === undefined) return textView(answer);
  const asked = [section(answer)];
  return requestForm(draftId, draft, namesOf(deps.projects), deps.projects[0].name, { warnedOf, asked });
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

function textView(text: string): ModalView {
  return {
    type: "modal",
    title: unstyled("Fix these docs"),
    close: unstyled("Close"),
    blocks: [section(text)],
  };
}
