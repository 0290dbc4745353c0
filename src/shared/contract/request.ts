import { z } from "zod";
import { Attachment, ATTACHMENT_LIMITS } from "./attachment.ts";
import { readingHints } from "./lenient.ts";
import { boundedText, textWithWords } from "./wanted-text.ts";

/** The most bytes of a prompt in UTF-8. */
export const MAX_PROMPT_BYTES = 64 * 1024;
/** The most UTF-16 units of a person's name or id. */
export const MAX_NAME_CHARS = 200;

const MAX_WORDS_CHARS = 8000;
const MAX_LINK_CHARS = 2000;
const MAX_QUOTED = 1000;

const WANT_PERSON = `a text of 1 to ${MAX_NAME_CHARS} characters with something to read in them`;
const WANT_LINK = `an http or https address of at most ${MAX_LINK_CHARS} characters, or null`;

/**
 * The requester of a turn, for a service of level 1. `link` leads to the message that asked or to
 * its thread; null if there is none yet. `isPrivate` is true unless Slack says that everybody in
 * the workspace can read that place.
 */
export const Requester = z
  .object(
    {
      name: textWithWords(WANT_PERSON, MAX_NAME_CHARS).meta({
        description: "The person's name, for people.",
        example: "Ana",
      }),
      link: z
        .url({ protocol: /^https?$/, error: WANT_LINK })
        .max(MAX_LINK_CHARS, WANT_LINK)
        .nullable()
        .meta({
          description: "Where the person asked, or null if there is no link to it.",
          example: "https://acme.slack.com/archives/C0DOCS/p1763719200000100",
        }),
      isPrivate: z
        .boolean("true or false")
        .register(readingHints, { ifUnreadable: true })
        .describe("True if not everybody in the workspace can read the place where the person asked."),
    },
    "an object with name, link and isPrivate",
  )
  .meta({
    id: "Requester",
    description: "Who asked. A pull request in a private repository names them and links to the thread.",
  });
export type Requester = z.infer<typeof Requester>;

const WANT_ID = `an id of 1 to ${MAX_NAME_CHARS} characters`;
const WANT_QUOTED = `a list of at most ${MAX_QUOTED} ids, with null where there is none`;

/**
 * Who is who in a turn's prompt, by ids that stay the same when people change their names, for a
 * service of level 1. `quoted` has the author of each quoted message, in order. It is null for a
 * message that no person wrote, or more than one.
 */
export const Authors = z
  .object(
    {
      requester: boundedText(WANT_ID, MAX_NAME_CHARS).register(readingHints, { isWhole: true }).meta({
        description: "Who asked, by an id that is always theirs and nobody else's.",
        example: "U0ANA",
      }),
      quoted: z
        .array(
          boundedText(WANT_ID, MAX_NAME_CHARS).register(readingHints, { isWhole: true }).nullable(),
          WANT_QUOTED,
        )
        .max(MAX_QUOTED, WANT_QUOTED)
        .register(readingHints, { isWhole: true })
        .meta({
          description:
            "The author's id for each message that the prompt quotes, in order. Null if no person wrote " +
            "it, or more than one did.",
          example: ["U0BEN", null],
        }),
    },
    "an object with requester and quoted",
  )
  .meta({
    id: "Authors",
    description: "Who wrote what the prompt quotes. Without it, somebody else wrote all of it.",
  });
export type Authors = z.infer<typeof Authors>;

const WANT_PROMPT = `a text of 1 to ${MAX_PROMPT_BYTES} bytes in UTF-8 with something to read in it`;
const WANT_WORDS = `a text of 1 to ${MAX_WORDS_CHARS} characters with something to read in them`;
const WANT_LIST = `a list of at most ${ATTACHMENT_LIMITS.count} attachments`;

/** Body of a create or a follow-up message. All but `prompt` is only for a service of level 1. */
export const CreateJobRequest = z.object({
  prompt: textWithWords(WANT_PROMPT)
    .refine((prompt) => Buffer.byteLength(prompt) <= MAX_PROMPT_BYTES, WANT_PROMPT)
    .describe(
      `What the agent is to do, at most ${MAX_PROMPT_BYTES} bytes in UTF-8, with something to read in it.`,
    ),
  attachments: z
    .array(Attachment, WANT_LIST)
    .max(ATTACHMENT_LIMITS.count, WANT_LIST)
    .optional()
    .describe(
      `Files for the agent, at most ${ATTACHMENT_LIMITS.totalBytes} bytes together. They are kept ` +
        "until the turn has ended.",
    ),
  words: textWithWords(WANT_WORDS, MAX_WORDS_CHARS)
    .optional()
    .describe(
      "The part of the prompt that the person typed. Pull requests and commit messages quote " +
        "these words and nothing else of the prompt.",
    ),
  requester: Requester.optional(),
  authors: Authors.optional(),
});
export type CreateJobRequest = z.infer<typeof CreateJobRequest>;

/** Body of an act on the pull request, such as answering reviews, for a service of level 2. */
export const ActRequest = CreateJobRequest.pick({ requester: true, authors: true });
export type ActRequest = z.infer<typeof ActRequest>;

/** Body of a refusal. Proxies answer without one. */
export const ErrorBody = z
  .object({ error: z.string().describe("What is wrong, and what to do.") })
  .meta({ id: "Error" });
