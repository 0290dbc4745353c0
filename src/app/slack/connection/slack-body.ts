import { z } from "zod";
import { isJsonFields } from "../../../shared/text/json-fields.ts";

const Part = z.object({ id: z.string().min(1) });
const Option = z.object({ value: z.string() });

/** What a person typed or chose in one element. */
const Chosen = z.object({
  value: z.string().nullish(),
  selected_option: Option.nullish(),
  selected_options: z.array(Option).nullish(),
});

const View = z.object({
  id: z.string(),
  hash: z.string().optional(),
  callback_id: z.string(),
  private_metadata: z.string(),
  blocks: z.array(z.object({})),
  state: z.object({ values: z.record(z.string(), z.record(z.string(), Chosen)) }),
});

const Pressed = Chosen.extend({ action_id: z.string(), block_id: z.string().optional(), type: z.string() })
  // Only an element in which nothing need be chosen has an empty choice.
  .refine(({ type, selected_option: option }) => type !== "overflow" || option?.value !== undefined);

/**
 * The parts of a press, a form or a shortcut that Bolt or `intake/` read without looking: each is
 * there in the right form, or absent where Slack leaves it out. `team` is null if the app is
 * installed for a whole organization.
 */
const Interaction = z.object({
  event: z.undefined().optional(),
  type: z.string(),
  user: Part.extend({ team_id: z.string().nullish() }),
  team: Part.nullish(),
  enterprise: Part.nullish(),
  channel: Part.optional(),
  message: z.object({ ts: z.string().nullish(), thread_ts: z.string().nullish() }).nullish(),
  trigger_id: z.string().nullish(),
  callback_id: z.string().nullish(),
  response_url: z.string().nullish(),
  response_urls: z.array(z.object({ response_url: z.string() })).optional(),
  function_data: z.object({}).optional(),
  actions: z.array(Pressed).min(1).optional(),
  view: View.optional(),
});
const WithView = Interaction.extend({ view: View });
const WithActions = Interaction.extend({ actions: z.array(Pressed).min(1) })
  // Where a message is, its presses are answered.
  .refine(({ view, response_url: url }) => view !== undefined || typeof url === "string");

const Event = z.object({
  event: z.object({ type: z.string() }),
  team_id: z.string().nullish(),
  enterprise_id: z.string().nullish(),
  authorizations: z
    .array(z.object({ team_id: z.string().nullish(), enterprise_id: z.string().nullish() }))
    .nullish(),
});
const Command = z.object({ event: z.undefined().optional(), command: z.string() });

/** The form of what Slack sends, by its type. Others are interactions. */
const FORMS: Readonly<Record<string, z.ZodType>> = {
  url_verification: z.object({}),
  event_callback: Event,
  block_actions: WithActions,
  view_submission: WithView,
  view_closed: WithView,
};

/**
 * True if a parsed request or Socket Mode payload has the form of everything that Slack sends: an
 * object, all parts of which that are read without looking have their form.
 */
export function isSlackBody(body: unknown): body is Record<string, unknown> {
  if (!isJsonFields(body)) return false;
  const { type, command } = body;
  const form = typeof type === "string" && Object.hasOwn(FORMS, type) ? FORMS[type] : undefined;
  return (form ?? (command === undefined ? Interaction : Command)).safeParse(body).success;
}

/**
 * True if Bolt can read an event. Bolt looks inside these parts and throws if, for example, one is
 * null.
 */
export function canBoltRead(event: unknown): boolean {
  if (!isJsonFields(event)) return false;
  return ["user", "channel", "item", "subteam"].every((name) => {
    const part = event[name];
    const isId = typeof part === "string" && (name === "user" || name === "channel");
    return part === undefined || isId || isJsonFields(part);
  });
}
