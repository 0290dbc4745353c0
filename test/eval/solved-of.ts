import type { Files } from "../../eval/files.ts";
import type { Solved } from "../../eval/rules/solved.ts";

type Texts = Readonly<Record<string, string>>;

/** Something to judge, from texts by their paths. */
export function solvedOf({
  before = {},
  after = before,
  reference = null,
  contexts = {},
  ...rest
}: {
  before?: Texts;
  after?: Texts;
  reference?: Texts | null;
  contexts?: Readonly<Record<string, Texts>>;
} & Partial<Pick<Solved, "told" | "words" | "claims">>): Solved {
  return {
    before: filesOf(before),
    after: filesOf(after),
    reference: reference === null ? null : filesOf(reference),
    contexts: new Map(Object.entries(contexts).map(([name, texts]) => [name, filesOf(texts)])),
    told: "",
    words: "",
    claims: null,
    ...rest,
  };
}

function filesOf(texts: Texts): Files {
  return new Map(Object.entries(texts).map(([path, text]) => [path, Buffer.from(text)]));
}
