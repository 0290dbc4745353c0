import { answerOf, termsOf } from "./answer.ts";
import { editPage, type PageEdits } from "./edit-page.ts";
import type { AgentMood } from "../agent-mood.ts";
import { isPage } from "./folder.ts";
import { dawdle, isAllowed, ToldToFailError } from "./mood.ts";
import type { WordList } from "./spelling.ts";
import { type Understanding, understand } from "./understanding.ts";
import { type Ask, askWhichPage } from "./which-page.ts";
import { declined, describeUnderstanding, isChanged, summarize, workOf } from "./words.ts";

/** The operations that a turn can use on the client's side. */
export type TurnOperations = {
  /** Resolves to the relative names of all files. */
  listFiles(): Promise<string[]>;
  read(path: string): Promise<string>;
  /** Tells the client that a page is being read, until `look` resolves. */
  lookAt(path: string, look: () => Promise<void>): Promise<void>;
  /** Writes a page, and shows the client the text before and after. */
  write(path: string, before: string, after: string): Promise<void>;
  /** Tells the client what is going on. */
  think(text: string): Promise<void>;
  /** Waits for a person without a limit of time. */
  ask: Ask;
  /** Sends the turn's last message. */
  say(text: string): Promise<void>;
  /** Returns the present mood, which can change while a turn runs. */
  moodOf: () => AgentMood;
  readonly signal: AbortSignal;
};

/**
 * Does as much of a prompt as it understands. Throws the signal's reason when it is canceled, and a
 * {@link ToldToFailError} if the mood is `fails`.
 */
export async function takeTurn(prompt: string, operations: TurnOperations, words: WordList): Promise<void> {
  const files = await operations.listFiles();
  const pages = files.filter(isPage);
  const understanding = await withPage(understand(prompt, pages), pages, operations.ask);
  await operations.think(describeUnderstanding(understanding));
  const edits: PageEdits[] = [];
  if (isAnything(understanding) && understanding.missingPage === null) {
    const all = understanding.addition === null ? pages : pages.slice(0, 1);
    const asked = understanding.pages.length > 0 ? understanding.pages : all;
    if (operations.moodOf() === "asks" && !(await isAllowed(workOf(understanding), operations.ask))) {
      return operations.say(declined());
    }
    for (const path of asked) {
      operations.signal.throwIfAborted();
      if (operations.moodOf() === "fails") {
        throw new ToldToFailError("The playground's weather makes the agent fail.");
      }
      if (operations.moodOf() === "slow") {
        await operations.lookAt(path, () => dawdle(operations.moodOf, asked.length, operations.signal));
      }
      const before = await operations.read(path);
      const page = editPage(path, before, understanding, words, files);
      edits.push(page);
      if (isChanged(page)) await operations.write(path, before, page.text);
    }
  }
  const terms = isAnything(understanding) ? null : termsOf(prompt);
  if (terms !== null) return operations.say(answerOf(terms, await readAll(pages, operations)));
  // The second round changed nothing, so the message of the first one still holds.
  if (understanding.brokenLinks !== null && !edits.some(isChanged)) return;
  await operations.say(summarize(understanding, edits, pages));
}

async function readAll(pages: readonly string[], operations: TurnOperations): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  for (const page of pages) {
    operations.signal.throwIfAborted();
    texts.set(page, await operations.read(page));
  }
  return texts;
}

function isAnything({ isSpelling, isLinks, replacements, addition }: Understanding): boolean {
  return isSpelling || isLinks || replacements.length > 0 || addition !== null;
}

/** Resolves to the same understanding with the page that a person says they meant. */
async function withPage(
  understanding: Understanding,
  pages: readonly string[],
  ask: Ask,
): Promise<Understanding> {
  const { missingPage } = understanding;
  if (missingPage === null || !isAnything(understanding)) return understanding;
  const page = await askWhichPage(missingPage, pages, ask);
  return page === null ? understanding : { ...understanding, pages: [page], missingPage: null };
}
