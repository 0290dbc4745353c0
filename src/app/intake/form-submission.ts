import type { App } from "@slack/bolt";
import { quotesNothing } from "../rules/words/prompt.ts";
import { wordsIn } from "../../shared/text/text.ts";
import { DEFAULT_INSTRUCTIONS, type Request } from "../rules/turn/request.ts";
import { refusalText } from "../messages/private-messages.ts";
import { FORM_EXPIRED, NOTHING_SHARED, NOTHING_TYPED } from "../messages/short-answers.ts";
import { acceptRequest, notAcceptedMessage } from "./accept-request.ts";
import { asTicked, askedBefore } from "./asked-before.ts";
import { findProject, namesOf, tooLong, type IntakeDeps } from "./deps.ts";
import { INSTRUCTIONS, PROJECT, readFormMetadata, REQUEST_FORM, requestForm } from "./request-form.ts";
import { sharedOf } from "./share-list.ts";
import { refusedOf, withoutRefused } from "../gather/gather-context.ts";

/** Handles the submitted form of `/docs-agent` and **Fix these docs**. */
export function registerFormSubmission(app: App, deps: IntakeDeps): void {
  app.view(REQUEST_FORM, async ({ ack, body, view }) => {
    const refuse = (block: string, text: string) =>
      ack({ response_action: "errors", errors: { [block]: text } });

    const { values } = view.state;
    const typed = wordsIn(values[INSTRUCTIONS]?.[INSTRUCTIONS]?.value ?? "");
    const refusal = tooLong(typed);
    if (refusal !== null) return refuse(INSTRUCTIONS, refusalText(refusal));
    const chosen = values[PROJECT]?.[PROJECT]?.selected_option?.value ?? null;
    const project = findProject(deps.projects, chosen);
    if ("kind" in project) return refuse(PROJECT, refusalText(project));
    try {
      const { draftId, warnedOf } = readFormMetadata(view.private_metadata);
      const draft = await deps.records.get("draft", draftId);
      if (draft === undefined) return refuse(INSTRUCTIONS, FORM_EXPIRED);
      const shared = await ofMembers(deps, sharedOf(draft, values));
      if (typed === "" && quotesNothing(shared)) {
        return refuse(INSTRUCTIONS, draft.quoted === null ? NOTHING_TYPED : NOTHING_SHARED);
      }
      const request: Request = {
        id: `form:${view.id}`,
        from: draft.from,
        teamId: draft.teamId,
        channelId: draft.channelId,
        threadTs: draft.threadTs,
        userId: body.user.id,
        project,
        instructions: typed === "" ? DEFAULT_INSTRUCTIONS : typed,
        ...shared,
        responseUrl: draft.responseUrl,
        receivedAt: deps.clock.now(),
      };
      const accepted = await acceptRequest(deps, request, "own-job", warnedOf);
      if (accepted.kind === "asked-before") {
        const state = { ...askedBefore(deps, accepted.turn, body.user.id, warnedOf), instructions: typed };
        const again = requestForm(draftId, draft, namesOf(deps.projects), project.name, state);
        return ack({ response_action: "update", view: asTicked(again, values) });
      }
      if (accepted.kind === "refused") return refuse(INSTRUCTIONS, refusalText(accepted.refusal));
    } catch (thrown) {
      deps.logger.error({ err: thrown }, "could not accept a request");
      return refuse(INSTRUCTIONS, notAcceptedMessage(thrown).text);
    }
    return ack();
  });
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
