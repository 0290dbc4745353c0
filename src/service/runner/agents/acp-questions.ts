import type {
  CreateElicitationResponse,
  ElicitationContentValue,
  ElicitationFormMode,
} from "@agentclientprotocol/sdk";
import { z } from "zod";
import { SHOWN_CHARS } from "../../../shared/contract/reading.ts";
import { MAX_CHOICES, type QuestionAnswer } from "../../../shared/contract/question.ts";
import { redactedLine, redactedText } from "../../base/printable-text.ts";
import type { AgentRun } from "./agent.ts";

/** A form with more fields is declined, because nobody would fill it in within a thread. */
const MAX_FIELDS = 5;

const Titled = z.array(z.object({ const: z.string(), title: z.string() })).min(1);
const Untitled = z.array(z.string()).min(1);
const Common = { title: z.string().nullish(), description: z.string().nullish() };
/** A field of a form that a person can be asked for. */
const Field = z.discriminatedUnion("type", [
  z.object({ type: z.literal("string"), ...Common, enum: Untitled.nullish(), oneOf: Titled.nullish() }),
  z.object({ type: z.literal("boolean"), ...Common }),
  z.object({ type: z.enum(["number", "integer"]), ...Common }),
  z.object({
    type: z.literal("array"),
    ...Common,
    items: z.object({ enum: Untitled.nullish(), anyOf: Titled.nullish() }),
  }),
]);
type Field = z.infer<typeof Field>;

type Option = { value: string | boolean; label: string };
type Asker = Pick<AgentRun, "ask" | "redact">;

/**
 * Asks a person to fill in an agent's form, one field at a time. Declines a form that can't be
 * asked this way, and cancels it if a field isn't answered.
 */
export async function answerForm(
  { message, requestedSchema }: Pick<ElicitationFormMode, "requestedSchema"> & { message: string },
  asker: Asker,
): Promise<CreateElicitationResponse> {
  const fields = z.record(z.string(), Field).safeParse(requestedSchema.properties ?? {});
  const entries = fields.success ? Object.entries(fields.data) : [];
  if (entries.length === 0 || entries.length > MAX_FIELDS) return { action: "decline" };
  const content: Record<string, ElicitationContentValue> = {};
  for (const [name, field] of entries) {
    const options = optionsOf(field);
    if (options !== null && options.length > MAX_CHOICES) return { action: "decline" };
    const about = entries.length === 1 ? "" : ` (${field.title ?? name})`;
    const answer = await asker.ask({
      text: redactedText(asker.redact, `${message}${about}`, SHOWN_CHARS.reason),
      choices: (options ?? []).map(({ label }, index) => ({
        id: String(index + 1),
        label: redactedLine(asker.redact, label, 100) || String(index + 1),
      })),
      allowsText: options === null,
    });
    const value = answer === null ? null : valueOf(field, options, answer);
    if (value === null) return { action: "cancel" };
    content[name] = value;
  }
  return { action: "accept", content };
}

/** The options to choose from, or null if the answer is in words. */
function optionsOf(field: Field): Option[] | null {
  switch (field.type) {
    case "boolean":
      return [
        { value: true, label: "Yes" },
        { value: false, label: "No" },
      ];
    case "string":
      return listed(field.oneOf, field.enum);
    case "array":
      return listed(field.items.anyOf, field.items.enum);
    default:
      return null;
  }
}

function listed(
  titled: z.infer<typeof Titled> | null | undefined,
  untitled: string[] | null | undefined,
): Option[] | null {
  if (titled) return titled.map(({ const: value, title }) => ({ value, label: title }));
  return untitled ? untitled.map((value) => ({ value, label: value })) : null;
}

function valueOf(
  field: Field,
  options: Option[] | null,
  answer: QuestionAnswer,
): ElicitationContentValue | null {
  if ("choice" in answer) {
    const value = options?.[Number(answer.choice) - 1]?.value;
    if (value === undefined) return null;
    // Of several possible options, a person names one.
    if (field.type === "array") return typeof value === "string" ? [value] : null;
    return value;
  }
  if (field.type !== "number" && field.type !== "integer") return answer.text;
  const number = Number(answer.text.trim());
  const fits = field.type === "integer" ? Number.isInteger(number) : Number.isFinite(number);
  return fits && answer.text.trim() !== "" ? number : null;
}
