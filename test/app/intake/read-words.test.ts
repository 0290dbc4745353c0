import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readWords, type Words, type WordsPlace } from "../../../src/app/intake/read-words.ts";

const QUESTION = { choices: ["FAQ", "List", "New", "Yes, go ahead"], takesWords: true };
const NOWHERE: WordsPlace = {
  isDirect: false,
  isInThread: false,
  hasJob: false,
  question: null,
  projects: ["docs", "api"],
};
const THREAD: WordsPlace = { ...NOWHERE, isInThread: true };
const JOB: WordsPlace = { ...THREAD, hasJob: true };

/** The columns of the table, and the places that each is about. A command never is in a thread. */
const PLACES = {
  alone: {
    "a command": NOWHERE,
    "a command beside a job": NOWHERE,
    "a command beside a question": NOWHERE,
    "a mention": NOWHERE,
    "a mention in a thread without a job": THREAD,
    "a direct message": { ...NOWHERE, isDirect: true },
  },
  job: {
    "a mention in a job's thread": JOB,
    "a direct message in a job's thread": { ...JOB, isDirect: true },
  },
  question: {
    "a mention in a question's thread": { ...JOB, question: QUESTION },
    "a direct message in a question's thread": { ...JOB, isDirect: true, question: QUESTION },
  },
  beside: { "a direct message above a question": { ...NOWHERE, isDirect: true, question: QUESTION } },
} satisfies Record<string, Record<string, WordsPlace>>;

/**
 * What is typed, and how it is read where there is nothing, in a job's thread, in the thread of a
 * question that has these choices and takes words, and in direct messages above such a question.
 * A row with one reading is read so everywhere; one with two, so in the thread of a question
 * and above it, too. `=` is a prompt as it was typed.
 */
const TABLE: [typed: string, alone: string, job?: string, question?: string, beside?: string][] = [
  // Subcommands, however they are spelled.
  ["help", "help"],
  ["Help", "help"],
  ["HELP!", "help"],
  ["help?", "help"],
  ["help.", "help"],
  ["--help", "help"],
  ["—help", "help"],
  ["-h", "help"],
  ["/help", "help"],
  ["*help*", "help"],
  ["_help_", "help"],
  ["`help`", "help"],
  ["“help”", "help"],
  [": help", "help"],
  ["• help", "help"],
  ["\u00a0help\u00a0", "help"],
  ["help 🙏", "help"],
  ["help :pray:", "help"],
  ["?", "help"],
  ["??!", "help"],
  ["？", "help"],
  ["status", "status"],
  ["Status?", "status"],
  ["— status", "status"],
  ["list channel", "channel"],
  ["LIST  channel\n", "channel"],
  ["list, channel", "channel"],
  ["list\u00a0channel", "channel"],
  ["list open", "open"],
  ["*list open*.", "open"],
  ["list open :eyes:", "open"],
  // A choice's name comes first.
  ["list", "list", "list", "answer", "answer"],
  [": list", "list", "list", "answer", "answer"],
  ["list.", "list", "list", "answer", "answer"],
  ["FAQ", "=", "=", "answer", "answer"],
  [" faq. ", "= faq.", "= faq.", "answer", "answer"],
  ["*FAQ*", "=", "=", "answer", "answer"],
  ["new", "empty", "empty", "answer", "answer"],
  ["yes", "=", "=", "answer", "perhaps"],
  ["yes, go ahead", "=", "=", "answer", "answer"],
  ["both of them", "=", "=", "answer", "perhaps"],
  // Subcommands count only alone.
  ["help users find the API key", "=", "=", "answer", "perhaps"],
  ["the help page is wrong", "=", "=", "answer", "perhaps"],
  ["help help", "=", "=", "answer", "perhaps"],
  ["list the options on the page", "=", "=", "answer", "perhaps"],
  ["list channels", "=", "=", "answer", "perhaps"],
  ["status codes", "=", "=", "answer", "perhaps"],
  ["constructor", "=", "=", "answer", "perhaps"],
  // Nothing that could be asked.
  ["", "empty"],
  ["\u00a0\u3000", "empty"],
  [":", "empty"],
  ["...", "empty"],
  ["** **", "empty"],
  ["—", "empty"],
  // Thanks.
  ["thanks", "=", "thanks", "answer", "perhaps"],
  ["Thanks!", "=", "thanks", "answer", "perhaps"],
  ["Thank you :pray:", "=", "thanks", "answer", "perhaps"],
  ["ok, great", "=", "thanks", "answer", "perhaps"],
  ["👍🏽", "=", "thanks", "answer", "perhaps"],
  [":+1::skin-tone-3:", "=", "thanks", "answer", "perhaps"],
  ["Vielen Dank!", "=", "thanks", "answer", "perhaps"],
  ["merci beaucoup", "=", "thanks", "answer", "perhaps"],
  ["¡gracias!", "=", "thanks", "answer", "perhaps"],
  ["ありがとうございます！", "=", "thanks", "answer", "perhaps"],
  ["감사합니다 😊", "=", "thanks", "answer", "perhaps"],
  ["好的，谢谢", "=", "thanks", "answer", "perhaps"],
  ["thanks, now the glossary, too", "=", "=", "answer", "perhaps"],
  ["ok, go ahead", "=", "=", "answer", "perhaps"],
  ["thanksgiving", "=", "=", "answer", "perhaps"],
  // Another job, in a thread that has one.
  ["new: fix the FAQ", "=", "new fix the FAQ", "new fix the FAQ", "new fix the FAQ"],
  ["New: fix the FAQ", "=", "new fix the FAQ", "new fix the FAQ", "new fix the FAQ"],
  ["new job: fix the FAQ", "=", "new fix the FAQ", "new fix the FAQ", "new fix the FAQ"],
  ["new job fix the FAQ", "=", "new fix the FAQ", "answer", "perhaps"],
  ["new:", "empty", "empty", "answer", "answer"],
  ["new users can't find the key", "=", "=", "answer", "perhaps"],
  ["newest first", "=", "=", "answer", "perhaps"],
  ["new: project=api fix it", "api new: fix it", "api new fix it", "api new fix it", "api new fix it"],
  ["project=api new: fix it", "api new: fix it", "api new fix it", "answer", "perhaps"],
  // A project's name, first or last.
  ["project=api fix it", "api fix it", "api fix it", "answer", "perhaps"],
  ["PROJECT=Api fix it", "Api fix it", "Api fix it", "answer", "perhaps"],
  ["project = api fix it", "api fix it", "api fix it", "answer", "perhaps"],
  ["--project=api fix it", "api fix it", "api fix it", "answer", "perhaps"],
  ["project=api\n\tfix it\nand that", "api fix it\nand that", "api fix it\nand that", "answer", "perhaps"],
  ["*project=api* fix it", "api fix it", "api fix it", "answer", "perhaps"],
  ["project=api: fix it", "api fix it", "api fix it", "answer", "perhaps"],
  ["fix it project=api", "api fix it", "api fix it", "answer", "perhaps"],
  ["fix it, project=api.", "api fix it", "api fix it", "answer", "perhaps"],
  ["project=api", "empty api", "empty api", "answer", "perhaps"],
  ["project=api help", "api help", "api help", "answer", "perhaps"],
  ["project=nope fix it", "unknown nope", "unknown nope", "answer", "perhaps"],
  ["fix it project=nope", "unknown nope", "unknown nope", "answer", "perhaps"],
  ["project= fix it", "unknown fix", "unknown fix", "answer", "perhaps"],
  ["project=", "unknown", "unknown", "answer", "perhaps"],
  ["fix it (project=api)", "api fix it", "api fix it", "answer", "perhaps"],
  ["fix it (project=api).", "api fix it", "api fix it", "answer", "perhaps"],
  ["(project=api) fix it", "api fix it", "api fix it", "answer", "perhaps"],
  ["[project=api]: fix it", "api fix it", "api fix it", "answer", "perhaps"],
  ["[project=api]", "empty api", "empty api", "answer", "perhaps"],
  ["fix it,project=api", "api fix it", "api fix it", "answer", "perhaps"],
  ["project＝api fix it", "api fix it", "api fix it", "answer", "perhaps"],
  ["（project＝api） fix it", "api fix it", "api fix it", "answer", "perhaps"],
  ["\u200fproject=api\u200f fix it", "api fix it", "api fix it", "answer", "perhaps"],
  ["fix it \u2068project=api\u2069", "api fix it", "api fix it", "answer", "perhaps"],
  ["project=“api” fix it", "api fix it", "api fix it", "answer", "perhaps"],
  ["fix it project='api'", "api fix it", "api fix it", "answer", "perhaps"],
  ["project=`api` fix it", "api fix it", "api fix it", "answer", "perhaps"],
  ["fix it (project=nope)", "unknown nope", "unknown nope", "answer", "perhaps"],
  ["project=docs project=api fix it", "unknown docs, api", "unknown docs, api", "answer", "perhaps"],
  ["project=docs fix it project=api", "unknown docs, api", "unknown docs, api", "answer", "perhaps"],
  ["fix it project=docs project=api", "unknown api, docs", "unknown api, docs", "answer", "perhaps"],
  ["project=api fix it project=api", "api fix it", "api fix it", "answer", "perhaps"],
  // In the middle, only if it is one.
  ["fix project=api the endpoint", "api fix the endpoint", "api fix the endpoint", "answer", "perhaps"],
  ["fix project=api, please", "api fix, please", "api fix, please", "answer", "perhaps"],
  ["fix (project=api) the page", "api fix the page", "api fix the page", "answer", "perhaps"],
  ["fix *project=api*: the page", "api fix: the page", "api fix: the page", "answer", "perhaps"],
  [
    "compare project=api with project=docs here",
    "unknown api, docs",
    "unknown api, docs",
    "answer",
    "perhaps",
  ],
  ["say that project=nope is wrong", "=", "=", "answer", "perhaps"],
  ["say that project=API is wrong", "=", "=", "answer", "perhaps"],
  ["say that `project=api` is the default", "=", "=", "answer", "perhaps"],
  ["say “project=api first” there", "=", "=", "answer", "perhaps"],
  ["it says ```\nrun project=api\n``` there", "=", "=", "answer", "perhaps"],
  ["it says:\n> run project=api now\nwhich is wrong", "=", "=", "answer", "perhaps"],
  ["say (`project=api`)", "=", "=", "answer", "perhaps"],
  ["say “fix it,project=api”", "=", "=", "answer", "perhaps"],
  ["“project=api” is wrong", "=", "=", "answer", "perhaps"],
  ["projects=api is wrong", "=", "=", "answer", "perhaps"],
  ["the address is /?project=api", "=", "=", "answer", "perhaps"],
];

/** A reading as the table writes it. */
function written(words: Words, typed: string): string {
  switch (words.kind) {
    case "list":
      if (words.of === "overview") return "status";
      return words.of === "channel" ? "channel" : words.isOpen === true ? "open" : "list";
    case "empty":
      return ["empty", words.project ?? ""].join(" ").trimEnd();
    case "unknown-project":
      return `unknown ${words.name}`.trimEnd();
    case "prompt": {
      const parts = [words.project ?? "", words.isNew ? "new" : "", words.prompt];
      const isAsTyped = words.project === null && !words.isNew;
      if (!isAsTyped) return parts.filter((part) => part !== "").join(" ");
      return words.prompt === typed ? "=" : `= ${words.prompt}`;
    }
    case "own-answer":
      return words.answer.kind;
    case "perhaps-answer":
      return "perhaps";
    default:
      return words.kind;
  }
}

describe.each(TABLE)("%j", (typed, alone, job = alone, question = job, beside = question) => {
  const expected = { alone, job, question, beside };
  for (const column of ["alone", "job", "question", "beside"] as const) {
    it.each(Object.entries(PLACES[column]))(`as %s: ${expected[column]}`, (_name, place) => {
      expect(written(readWords(typed, place), typed)).toBe(expected[column]);
    });
  }
});

it("has eighty spellings, and each once", () => {
  const spellings = new Set(TABLE.map(([typed]) => typed));
  expect(spellings.size).toBe(TABLE.length);
  expect(spellings.size).toBeGreaterThanOrEqual(80);
});

describe("a question without words of one's own", () => {
  const question = { ...QUESTION, takesWords: false };

  it.each([
    ["FAQ", "answer", "answer"],
    ["the pricing page", "=", "="],
    ["yes", "answer", "perhaps"],
    ["list channel", "channel", "channel"],
    // Whoever thanks while the agent waits hasn't answered.
    ["thanks", "=", "="],
    ["new: fix the FAQ", "new fix the FAQ", "new fix the FAQ"],
    ["project=api fix it", "api fix it", "api fix it"],
  ])("%j: %s in its thread, %s above it", (typed, inThread, beside) => {
    expect(written(readWords(typed, { ...JOB, question }), typed)).toBe(inThread);
    expect(written(readWords(typed, { ...NOWHERE, isDirect: true, question }), typed)).toBe(beside);
  });
});

describe("one project", () => {
  it.each([
    ["project=docs fix it", "docs fix it"],
    ["project=nope fix it", "unknown nope"],
    ["say that project=docs is the default", "="],
  ])("%j: %s", (typed, expected) => {
    expect(written(readWords(typed, { ...NOWHERE, projects: ["docs"] }), typed)).toBe(expected);
  });
});

it("a choice may be called anything", () => {
  const place = { ...JOB, question: { choices: ["help", "?", "new: page", "thanks"], takesWords: false } };
  for (const typed of ["help", "Help!", "?", "new: page", "thanks"]) {
    expect(readWords(typed, place)).toEqual({ kind: "answer" });
  }
});

it("an answer in words ends at a form's limit", () => {
  const place = { ...JOB, question: QUESTION };
  expect(readWords("x".repeat(3000), place)).toEqual({ kind: "answer" });
  expect(readWords("x".repeat(3001), place).kind).toBe("prompt");
});

it("leaves any other prompt as it was typed, without the white space around it", () => {
  const whiteSpace = fc.string({ unit: fc.constantFrom(" ", "\n", "\t", "\u00a0"), maxLength: 4 });
  const unit = fc.constantFrom(
    "projects",
    "=",
    "help",
    "list",
    "channel",
    " ",
    "\n",
    "\t",
    "&lt;",
    "<",
    "```",
  );
  const words = fc.oneof(fc.string({ unit: "binary" }), fc.string({ unit }));
  fc.assert(
    fc.property(whiteSpace, words, whiteSpace, (before, typed, after) => {
      const prompt = typed.trim();
      const alone = prompt
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}]+/gu, " ")
        .trim();
      fc.pre(/[\p{L}\p{N}]/u.test(prompt) && !/^(?:h|help|status|new|list(?: channel| open)?)$/.test(alone));
      fc.pre(!/project\s*[=＝]/i.test(prompt));
      const read = readWords(`${before}${typed}${after}`, NOWHERE);
      expect(read).toEqual({ kind: "prompt", project: null, isNew: false, prompt });
    }),
  );
});

it("reads anything anywhere", () => {
  const places = Object.values(PLACES).flatMap((column) => Object.values<WordsPlace>(column));
  const unit = fc.constantFrom("new", ":", " job ", "project=", "api", "`", "“", "”", "> ", "\n", "ok", "👍");
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: "binary" }), fc.string({ unit })), (typed) => {
      for (const place of places) expect(readWords(typed, place).kind).toBeTypeOf("string");
    }),
  );
});
