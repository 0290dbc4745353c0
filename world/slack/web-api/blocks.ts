import * as z from "zod";
import { jsonOf } from "../../../src/shared/text/text.ts";
import { refusalWithMessages, SlackRefusal } from "../refusal.ts";
import { parseMessageBlocks, parseView } from "../validate-blocks.ts";
import { type Args, readArgs } from "./args.ts";
import type { MethodTable } from "./method.ts";

const ValidateArgs = z.object({
  blocks: z.unknown().optional(),
  message: z.unknown().optional(),
  view: z.unknown().optional(),
});
const Message = z.object({ blocks: z.unknown() });

/**
 * https://docs.slack.dev/reference/methods/blocks.validate. A call has exactly one of the three
 * arguments, and each has an error word.
 */
export const blocksMethods: MethodTable = {
  "blocks.validate": { token: "bot", scopes: [], run: validate },
};

function validate(args: Args) {
  const { blocks, message, view } = readArgs(ValidateArgs, args);
  if ([blocks, message, view].filter((given) => given !== undefined).length !== 1) {
    throw refusalWithMessages("invalid_arguments", ["provide exactly one of `blocks`, `view`, or `message`"]);
  }
  if (view !== undefined) refusedAs("invalid_view", () => parseView(view));
  else if (blocks !== undefined) refusedAs("invalid_blocks", () => parseMessageBlocks(blocks));
  else {
    const given = Message.safeParse(typeof message === "string" ? jsonOf(message) : message);
    refusedAs("invalid_message", () => parseMessageBlocks(given.data?.blocks));
  }
  return {};
}

function refusedAs(error: string, parse: () => unknown): void {
  try {
    parse();
  } catch (thrown) {
    if (!(thrown instanceof SlackRefusal)) throw thrown;
    throw new SlackRefusal(error, thrown.details);
  }
}
