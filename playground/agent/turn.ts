import { answerOf, termsOf } from "./answer.ts";
import { editPage, type PageEdits } from "./edit-page.ts";
import { isPage } from "./folder.ts";
import { isAboutConflicts, withoutConflicts } from "./conflicts.ts";
import { dawdle, isAllowed, ToldToFailError, withChatter } from "./mood.ts";
import type { TurnOperations } from "./operations.ts";
import { readReview } from "./read-review.ts";
import { answerReview } from "./review.ts";
import type { WordList } from "./spelling.ts";
import { isAnything, type Understanding, understand } from "./understanding.ts";
import { type Ask, askWhichPage } from "./which-page.ts";
import { declined, describeUnderstanding, isChanged, resolved, summarize, workOf } from "./words.ts";

/**
 * Does as much of a prompt as it understands, or of what reviewers and checks say in `context`, the
 * texts before it. Throws the signal's reason when it is canceled, and a
 * {@link ToldToFailError} if the mood is `fails`.
 */
export async function takeTurn(
  { prompt, context }: { prompt: string; context: string },
  operations: TurnOperations,
  words: WordList,
): Promise<void> {
  const files = await operations.listFiles();
  const pages = files.filter(isPage);
  if (isAboutConflicts(prompt)) return resolveAll(pages, operations);
  const review = readReview(context);
  if (review !== null) return answerReview(review, { files, pages, words }, operations);
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
      const chats = operations.moodOf() === "chats" && understanding.asked === null;
      if (isChanged(page)) await operations.write(path, before, chats ? withChatter(page.text) : page.text);
    }
  }
  const terms = isAnything(understanding) ? null : termsOf(prompt);
  if (terms !== null) return operations.say(answerOf(terms, await readAll(pages, operations)));
  // The second round changed nothing, so the message of the first one still holds.
  if (understanding.asked !== null && !edits.some(isChanged)) return;
  await operations.say(summarize(understanding, edits, pages));
}

/** Resolves the conflicts of all pages. */
async function resolveAll(pages: readonly string[], operations: TurnOperations): Promise<void> {
  const changed: string[] = [];
  for (const [path, before] of await readAll(pages, operations)) {
    const after = withoutConflicts(before);
    if (after === before) continue;
    await operations.write(path, before, after);
    changed.push(path);
  }
  await operations.say(resolved(changed));
}

async function readAll(pages: readonly string[], operations: TurnOperations): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  for (const page of pages) {
    operations.signal.throwIfAborted();
    texts.set(page, await operations.read(page));
  }
  return texts;
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
