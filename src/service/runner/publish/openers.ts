/** An apostrophe, as keyboards and as books have it. */
const A = "['’]";
const HAVE = `(?:${A}ve| have)?(?: now| also| just)?`;
const NOT = `(?:n${A}t| ?not)`;

type Opener = {
  /** How a sentence of this kind begins. */
  begins: RegExp;
  /** `leave-out` if nobody misses it, or `say-last` if it may matter to a reviewer. */
  mend: "leave-out" | "say-last";
};

function begins(...ways: string[]): RegExp {
  return new RegExp(`^[\\W_]{0,20}(?:${ways.join("|")})`, "i");
}

/**
 * Kinds of sentences with which agents begin, though they aren't about the change. None of them
 * comes first in a pull request, or becomes its title.
 */
export const OPENERS = {
  agreement: {
    begins: begins(
      `(?:sure(?: thing)?|certainly|of course|absolutely|ok(?:ay)?|all ?right|got it|great|perfect|` +
        `excellent|understood|yes|hi|hello|hey(?: there)?|no problem|thanks?(?: you)?|` +
        `all (?:done|set)|done|finished|good (?:catch|point|question)|` +
        `great (?:catch|point|question|news)|you${A}re (?:absolutely )?right)` +
        `(?:,? (?:i can (?:do|help with) (?:that|this)|i${A}ll (?:do|fix|help with) (?:that|this|it)|` +
        `(?:happy|glad) to help|thanks|for (?:the|your) [\\w ]{1,40}|that${A}s done))?\\s*(?:[.!]|$)`,
      `(?:i hope (?:this|that) helps|let me know if|feel free to|if you (?:have|need|want|would like))\\b`,
    ),
    mend: "leave-out",
  },
  announcement: {
    begins: begins(
      `(?:here(?:${A}s| is| are)|below (?:is|are)|these are|the following|` +
        `i${HAVE} (?:made|done) the following|(?:a |the )?(?:brief |short |quick )?` +
        `(?:summary|overview|list) of)\\b[^.!?]{0,100}:[*_]{0,3}$`,
    ),
    mend: "leave-out",
  },
  progress: {
    begins: begins(
      `(?:(?:first|now|next|then|so),? )?(?:let me|let${A}s|i${A}ll|i will|i(?:${A}m| am) (?:going to|now)) `,
      `i${HAVE} (?:completed|finished) (?:the|your|this|all|my|what)\\b`,
      `(?:the|this|your|all|my) (?:tasks?|request|work|changes?|edits?|updates?) ` +
        `(?:is|are|was|were|has been|have been) (?:now )?` +
        `(?:complete|completed|done|finished|made|ready)(?:[.!]| for | and |$)`,
    ),
    mend: "leave-out",
  },
  introduction: {
    begins: begins(
      `as an? (?:ai|llm|language model|large language model|assistant|automated|coding|bot|program)\\b`,
      `i(?:${A}m| am) (?:an?|only|just|claude|gemini|codex|copilot|chatgpt|gpt|opencode)\\b`,
      `my name is\\b`,
      `(?:this (?:pull request|change|text|summary|message) (?:is|was) )?(?:automatically )?` +
        `(?:generated|created|written) (?:automatically|by|with|using)\\b`,
    ),
    mend: "say-last",
  },
  disclaimer: {
    begins: begins(
      `(?:please|kindly|make sure to|be sure to|remember to|you (?:should|may want to)|` +
        `i${A}?d? ?recommend)\\b` +
        `[^.!?]{0,40}\\b(?:check|double-check|review|verify|test|proofread|look)`,
      `(?:please )?(?:note|be aware|keep in mind)(?: that\\b|:)`,
      `(?:caveats?|disclaimer|limitations?|heads[ -]up|fyi|warning|important)\\b ?[:,–—-]`,
      `i(?:${A}m| am) (?:sorry|afraid)\\b`,
      `(?:unfortunately,? )?i (?:(?:could|can|did|was|am|have|do|had)${NOT}|can${A}t) (?:been |be )?` +
        `(?:able|run|ran|test|tested|verify|verified|check|checked|access|build|built|confirm|try|` +
        `install|see)\\b`,
      `i (?:may|might|could) (?:have|be) (?:made|missed|misunderstood|wrong|mistaken)\\b`,
      `there (?:may|might|could) be (?:mistakes|errors)\\b`,
    ),
    mend: "say-last",
  },
} as const satisfies Record<string, Opener>;

/** Begins a line that doesn't go on with the line before. */
const NEW_LINE = String.raw`\n\s*(?:[-*+#>|]|\d{1,3}[.)]|$)`;
/** A sentence, perhaps over several lines, or a line that announces what follows. */
const SENTENCE = new RegExp(
  String.raw`^(?:[^\n]|(?!${NEW_LINE})\n){1,500}?` +
    String.raw`(?:[.!?]+["”’)*_]{0,3}(?=\s|$)|:[*_]{0,3}(?=\n|$)|(?=${NEW_LINE})|$)`,
);

/**
 * Parts a summary from sentences about its agent that it begins with, and from paragraphs of
 * nothing else. `closing` are those of them that are to be said last.
 */
export function withoutOpeners(summary: string): { text: string; closing: string[] } {
  const closing: string[] = [];
  const kept: string[] = [];
  for (const paragraph of paragraphsOf(summary.trim())) {
    const { rest, last } = withoutFirst(paragraph);
    if (rest !== "" && kept.length > 0) kept.push(paragraph);
    else {
      closing.push(...last);
      if (rest !== "") kept.push(rest);
    }
  }
  return { text: kept.join("\n\n"), closing };
}

/** Beside code, all that follows the first paragraph is one: empty lines belong to code. */
function paragraphsOf(text: string): string[] {
  const paragraphs = text.split(/\n{2,}/);
  if (!/^ {0,3}(?:```|~~~)/m.test(text)) return paragraphs;
  const [first = ""] = paragraphs;
  return [first, text.slice(first.length).replace(/^\n+/, "")].filter((each) => each !== "");
}

/** A paragraph without the sentences that it begins with, and those to be said last. */
function withoutFirst(paragraph: string): { rest: string; last: string[] } {
  let rest = paragraph;
  const said: string[] = [];
  for (;;) {
    const [sentence = ""] = SENTENCE.exec(rest) ?? [];
    const kind = Object.values<Opener>(OPENERS).find((each) => each.begins.test(sentence));
    if (kind === undefined) break;
    if (kind.mend === "say-last") said.push(sentence.trim());
    rest = rest.slice(sentence.length).trimStart();
  }
  return { rest, last: said.length === 0 ? [] : [said.join(" ")] };
}
