import type { App, BlockAction, ButtonAction, ViewOutput } from "@slack/bolt";
import type { ModalView } from "@slack/types";
import { quotesNothing } from "../rules/words/prompt.ts";
import { wordsIn } from "../../shared/text/text.ts";
import { isAskOnly } from "../rules/access.ts";
import { defaultWords, type Request } from "../rules/turn/request.ts";
import { refusalText } from "../messages/refusal-message.ts";
import { FORM_EXPIRED, NOTHING_SHARED, NOTHING_TYPED } from "../messages/short-answers.ts";
import { acceptRequest, notAcceptedMessage } from "./accept-request.ts";
import { ACTIONS, addValue, type AddValue } from "../messages/actions.ts";
import type { Draft } from "../rules/records.ts";
import { addReply, addTo } from "./add-to.ts";
import { asTicked, askedBefore, formWithNote, textView } from "./asked-before.ts";
import { namesOf, tooLong, type IntakeDeps } from "./deps.ts";
import { PROJECT } from "./project-block.ts";
import {
  type FormMetadata,
  INSTRUCTIONS,
  readFormMetadata,
  REQUEST_FORM,
  requestForm,
} from "./request-form.ts";
import { projectFor, rememberProject } from "./choose-project.ts";
import { waitingText } from "./waiting-text.ts";
import { sharedOf } from "./share-list.ts";
import { refusedOf, withoutRefused } from "../gather/gather-context.ts";

/** A form shows no mentions. */
const IN_FORM = { contact: "your Docs Agent admin" };

/** Handles the submitted form of `/docs-agent` and **Fix these docs**. */
export function registerFormSubmission(app: App, deps: IntakeDeps): void {
  app.view(REQUEST_FORM, async ({ ack, body, view }) => {
    const refuse = ({ block, text }: FormFault) =>
      ack({ response_action: "errors", errors: { [block]: text } });
    try {
      const read = await requestOfForm(deps, view, body.user.id);
      if ("block" in read) return refuse(read);
      const { request, draft, form } = read;
      const accepted = await acceptRequest(deps, request, "own-job", form.warnedOf);
      if (accepted.kind === "asked-before") {
        const state = {
          ...askedBefore(deps, accepted, body.user.id, form.warnedOf),
          waiting: await waitingText(deps),
          instructions: form.typed,
          isAskOnly: isAskOnly(deps.access, draft.channelId),
        };
        const names = namesOf(deps.projects);
        const again = requestForm(form.draftId, draft, names, request.project.name, state);
        return ack({ response_action: "update", view: asTicked(again, view.state.values) });
      }
      if (accepted.kind === "refused") {
        return refuse({ block: INSTRUCTIONS, text: refusalText(accepted.refusal) });
      }
      await rememberProject(deps, request, request.project);
    } catch (thrown) {
      deps.logger.error({ err: thrown }, "could not accept a request");
      return refuse({ block: INSTRUCTIONS, text: notAcceptedMessage(thrown, IN_FORM).text });
    }
    return ack();
  });
}

/**
 * Handles **Add to it**: sends the form or the kept request that the button belongs to as a
 * follow-up to the pull request. If that has ended meanwhile, it is a new request.
 */
export function registerAddToIt(app: App, deps: IntakeDeps): void {
  app.action<BlockAction<ButtonAction>>(ACTIONS.addToIt, async (press) => {
    const { action, body, client, respond, ack } = press;
    const value = addValue.read(action.value);
    const userId = body.user.id;
    if (body.view === undefined) {
      const { text, isTaken } = await addReply(deps, value, userId);
      await ack();
      return void (await respond({ text, response_type: "ephemeral", replace_original: isTaken }));
    }
    const { id, hash, state } = body.view;
    const view = await afterAdding(deps, value, body.view, userId);
    await ack();
    try {
      await client.views.update({ view_id: id, hash, view: asTicked(view, state.values) });
    } catch (thrown) {
      deps.logger.warn({ err: thrown }, "could not say in a form that it was sent");
    }
  });
}

/** What replaces a form after **Add to it**: what became of it, or the form and what is wrong. */
async function afterAdding(
  deps: IntakeDeps,
  value: AddValue | null,
  view: SentForm,
  userId: string,
): Promise<ModalView> {
  const refused = (text: string) => formWithNote(deps, view.private_metadata, text, userId);
  try {
    if (value === null) return textView(FORM_EXPIRED);
    const read = await requestOfForm(deps, view, userId);
    if ("block" in read) return await refused(read.text);
    const taken = await addTo(deps, read.request, value.turnId);
    return taken.isTaken ? textView(taken.text) : await refused(taken.text);
  } catch (thrown) {
    deps.logger.error({ err: thrown }, "could not accept a request");
    return textView(notAcceptedMessage(thrown, IN_FORM).text);
  }
}

/** What is wrong with a form, to be said under one of its fields. */
type FormFault = { block: string; text: string };

type SentForm = Pick<ViewOutput, "id" | "private_metadata" | "state">;

/** The request that a form makes as it is now, with its draft. */
async function requestOfForm(
  deps: IntakeDeps,
  { id, private_metadata: metadata, state: { values } }: SentForm,
  userId: string,
): Promise<FormFault | { request: Request; draft: Draft; form: FormMetadata & { typed: string } }> {
  const typed = wordsIn(values[INSTRUCTIONS]?.[INSTRUCTIONS]?.value ?? "");
  const refusal = tooLong(typed);
  if (refusal !== null) return { block: INSTRUCTIONS, text: refusalText(refusal) };
  const chosen = values[PROJECT]?.[PROJECT]?.selected_option?.value ?? null;
  const form = readFormMetadata(metadata);
  const draft = await deps.records.get("draft", form.draftId);
  if (draft === undefined) return { block: INSTRUCTIONS, text: FORM_EXPIRED };
  const choice = await projectFor(deps, { ...draft, userId }, chosen);
  if (choice.kind === "unknown-project") return { block: PROJECT, text: refusalText(choice) };
  if (choice.kind === "ask") return { block: INSTRUCTIONS, text: FORM_EXPIRED };
  const shared = await ofMembers(deps, sharedOf(draft, values));
  if (typed === "" && quotesNothing(shared)) {
    return { block: INSTRUCTIONS, text: draft.quoted === null ? NOTHING_TYPED : NOTHING_SHARED };
  }
  const request: Request = {
    id: `form:${id}`,
    from: draft.from,
    teamId: draft.teamId,
    channelId: draft.channelId,
    threadTs: draft.threadTs,
    userId,
    project: choice.project,
    instructions: typed === "" ? defaultWords(isAskOnly(deps.access, draft.channelId)) : typed,
    ...shared,
    responseUrl: draft.responseUrl,
    receivedAt: deps.clock.now(),
  };
  return { request, draft, form: { ...form, typed } };
}

/**
 * Removes the picked message if a guest wrote it, and any guests' messages and files that it shows.
 */
async function ofMembers(
  { directory }: IntakeDeps,
  shared: Pick<Request, "quoted" | "context">,
): Promise<Pick<Request, "quoted" | "context">> {
  const { quoted } = shared;
  if (quoted === null) return shared;
  const isRefused = await refusedOf(directory, [quoted]);
  const none = { message: null, ofGuests: 1 };
  const { message, ofGuests } = isRefused(quoted) ? none : withoutRefused(quoted, isRefused);
  if (ofGuests === 0) return { ...shared, quoted: message };
  const { context = { messages: [], leftOut: 0, upTo: quoted.ts } } = shared;
  return { quoted: message, context: { ...context, ofGuests: (context.ofGuests ?? 0) + ofGuests } };
}
