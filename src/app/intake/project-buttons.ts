import type { App, BlockAction, ButtonAction } from "@slack/bolt";
import { chooseProject, isWorthKeeping, type ProjectChoice } from "../rules/project-choice.ts";
import { askingForProject } from "../rules/decisions/accept.ts";
import type { ProjectRef } from "../rules/project.ts";
import { PERSON_KEPT_MS, personId, type Write } from "../rules/records.ts";
import { isReply, type Request } from "../rules/turn/request.ts";
import { CHOOSE_PROJECT, projectValue, type ProjectValue } from "../messages/actions.ts";
import { refusalText } from "../messages/private-messages.ts";
import { REPLY_NOT_KEPT } from "../messages/short-answers.ts";
import { acceptOrAsk, notAcceptedMessage } from "./accept-request.ts";
import type { IntakeDeps } from "./deps.ts";
import { answerPress, type PressAnswer } from "./press.ts";
import { keptReply } from "./thread-reply.ts";

type Asker = Pick<Request, "teamId" | "userId" | "channelId">;

/** The project of a person's request, by the one rule for it. `option` is what they named. */
export async function projectFor(
  deps: Pick<IntakeDeps, "projects" | "projectOfChannel" | "records">,
  asker: Asker,
  option: string | null,
): Promise<ProjectChoice> {
  const { project: last = null } = (await deps.records.get("person", personId(asker))) ?? {};
  return chooseProject(deps, { option, channelId: asker.channelId, last });
}

/** Keeps a request, and asks its person privately which project it is for. */
export function askForProject(deps: Pick<IntakeDeps, "queue">, request: Request): Promise<void> {
  return deps.queue.commit((read) => askingForProject(read, request));
}

/** Remembers the project that a person chose, if that says something about their next request. */
export async function rememberProject(deps: IntakeDeps, asker: Asker, project: ProjectRef): Promise<void> {
  if (isWorthKeeping(project, await projectFor(deps, asker, null))) await setProject(deps, asker, project);
}

/** Sets the project that a person's requests get where nothing else says it. Null: none. */
export function setProject(
  { queue }: Pick<IntakeDeps, "queue">,
  person: Pick<Asker, "teamId" | "userId">,
  project: ProjectRef | null,
): Promise<void> {
  const id = personId(person);
  return queue.commit((read) => {
    const { project: _, ...known } = read("person", id) ?? {};
    const record = { ...known, version: 1 as const, ...(project !== null && { project }) };
    const write: Write = { kind: "person", id, record, ttlMs: PERSON_KEPT_MS };
    return { writes: [write], value: undefined };
  });
}

/** The buttons with the projects, below the question which of them a request is for. */
export function registerProjectButtons(app: App, deps: IntakeDeps): void {
  app.action<BlockAction<ButtonAction>>(CHOOSE_PROJECT, async (press) => {
    const answer = await chosen(deps, projectValue.read(press.action.value), press.body.user.id);
    await press.ack();
    if (answer === REPLY_NOT_KEPT) {
      return void (await press.respond({ text: answer, response_type: "ephemeral", replace_original: true }));
    }
    // After a refusal, such as a limit, the buttons still work.
    if (answer === null) await press.respond({ delete_original: true });
    await answerPress(deps, press, answer);
  });
}

/** Sends a kept request to the project. Returns what its person is told, or null if it was sent. */
async function chosen(deps: IntakeDeps, value: ProjectValue | null, userId: string): Promise<PressAnswer> {
  try {
    const reply = await keptReply(deps, value?.replyId, userId);
    if (value === null || reply?.asksProject !== true) return REPLY_NOT_KEPT;
    const choice = chooseProject(deps, { option: value.project, channelId: "", last: null });
    if (choice.kind === "unknown-project") return refusalText(choice);
    if (choice.kind !== "chosen") return REPLY_NOT_KEPT;
    const { project } = choice;
    const request = { ...reply.request, project, receivedAt: deps.clock.now() };
    const isInThread = isReply(request.threadTs, request.messageTs);
    // A thread whose job would take it isn't asked about.
    const accepted = await acceptOrAsk(deps, request, isInThread ? "separate-job" : "own-job");
    if (accepted.kind === "refused") return refusalText(accepted.refusal);
    if (accepted.kind === "not-allowed") return accepted;
    await rememberProject(deps, request, project);
    return null;
  } catch (thrown) {
    deps.logger.error({ err: thrown }, "could not accept a request");
    return notAcceptedMessage(thrown).text;
  }
}
