import remarkGfm from "remark-gfm";
import remarkParse from "remark-parse";
import { unified } from "unified";

/**
 * A paragraph, heading, row of a table, sample and the like. `form` is its text in the one form in
 * which blocks are compared, `visible` what readers see of it, and `language` a sample's.
 */
export type Block = {
  kind: "matter" | "prose" | "heading" | "row" | "sample" | "html" | "line";
  form: string;
  visible: string;
  language: string | null;
};

type Point = { offset?: number | undefined };
type Node = {
  type: string;
  depth?: number | undefined;
  lang?: string | null | undefined;
  meta?: string | null | undefined;
  value?: string | undefined;
  children?: Node[] | undefined;
  position?: { start: Point; end: Point } | undefined;
};

const NOWHERE: { start: Point; end: Point } = { start: {}, end: {} };
const PARSER = unified().use(remarkParse).use(remarkGfm);
const MATTER = /^---[ \t]*\r?\n[^]*?\r?\n---[ \t]*(?=\r?\n|$)/;
/** A longer page is read by its lines. */
const MAX_PARSED = 500_000;

/** True of the pages whose blocks are Markdown's. Other files are read by their lines. */
export function isPage(path: string): boolean {
  return /\.(?:md|mdx|markdown)$/i.test(path);
}

/** The language of a page by its path, as in `i18n/de/`. */
export function localeOf(path: string): string {
  return (
    /(?:^|[/._-])([a-z]{2})(?:-[A-Za-z]{2,4})?(?=[/.])/.exec(
      path.replace(/\.(?:md|js|ts|py|go|rs)x?$/, "."),
    )?.[1] ?? "en"
  );
}

/** The front matter of a page, with its marks. Empty if there is none. */
export function matterOf(text: string): string {
  return MATTER.exec(text)?.[0] ?? "";
}

/** The blocks of a file, in their order. Those of front matter are its lines. */
export function blocksOf(path: string, text: string): Block[] {
  if (!isPage(path) || text.length > MAX_PARSED) return linesOf(text, "line");
  const matter = matterOf(text);
  const body = text.slice(matter.length);
  const blocks: Block[] = linesOf(matter, "matter").filter(({ form }) => form !== "---");
  const root: Node = PARSER.parse(body);
  collect(root, "", body, blocks);
  return blocks;
}

function linesOf(text: string, kind: "line" | "matter"): Block[] {
  return text.split("\n").flatMap((line) => {
    const form = line.trimEnd();
    return form.trim() === "" ? [] : [{ kind, form, visible: form, language: null }];
  });
}

function collect(node: Node, around: string, body: string, blocks: Block[]): void {
  const { start, end } = node.position ?? NOWHERE;
  const raw = body.slice(start.offset ?? 0, end.offset ?? 0);
  const add = (kind: Block["kind"], text: string, visible = text, language: string | null = null) =>
    blocks.push({ kind, form: `${around}${text}`, visible, language });
  switch (node.type) {
    case "heading": {
      const words = spaced(raw.replace(/^#+\s*/, "").replace(/\n[=-]+\s*$/, ""));
      return void add("heading", `${"#".repeat(node.depth ?? 1)} ${words}`, words);
    }
    case "code":
      return void add(
        "sample",
        `\`\`\`${[node.lang ?? "", node.meta ?? ""].join(" ").trim()}\n${(node.value ?? "").trimEnd()}`,
        node.value ?? "",
        node.lang ?? "",
      );
    case "html": {
      const seen = withoutComments(raw);
      return void add("html", spaced(raw), spaced(seen));
    }
    case "tableRow": {
      const cells = (node.children ?? []).map((cell) =>
        spaced(
          body
            .slice(cell.position?.start.offset ?? 0, cell.position?.end.offset ?? 0)
            .replace(/^\||\|$/g, ""),
        ),
      );
      return void add("row", cells.join(" | "), cells.join(" | "));
    }
    case "paragraph":
    case "definition":
    case "thematicBreak":
      return void add("prose", spaced(raw), spaced(withoutComments(raw)));
    default: {
      const inner = { blockquote: "> ", listItem: "- ", footnoteDefinition: "^ " }[node.type] ?? "";
      for (const child of node.children ?? []) collect(child, around + inner, body, blocks);
    }
  }
}

/** What readers see: no comments of HTML and MDX. */
export function withoutComments(text: string): string {
  return text.replace(/<!--[^]*?(?:-->|$)/g, " ").replace(/\{\s*\/\*[^]*?\*\/\s*\}/g, " ");
}

/**
 * A page as it stands, and with one layout: one mark of lists and of emphasis, narrow tables, and
 * paragraphs in one line each. All of them say the same.
 */
export function layoutsOf(text: string): string[] {
  const narrow = text
    .replace(/^(\s*)[*+] (?=\S)/gm, "$1- ")
    .replace(/(?<![\w*])__(?=\S)([^_\n]+?)__(?!\w)/g, "**$1**")
    .replace(/^\|.*\|[ \t]*$/gm, (row) =>
      row
        .replace(/[ \t]+\|/g, " |")
        .replace(/\|[ \t]+/g, "| ")
        .trimEnd(),
    );
  return [text, narrow, narrow.replace(/(?<=[\p{L}\p{N}.,;`)])\n(?=[\p{L}\p{N}`([])/gu, " ")];
}

/** A text in one line, with one kind of marks for emphasis. */
function spaced(text: string): string {
  return text
    .replace(/^[ \t]*>[ \t]?/gm, "")
    .replace(/\s+/g, " ")
    .replace(/(?<![\w*])__(?=\S)([^_]+?)__(?!\w)/g, "**$1**")
    .replace(/(?<![\w*])_(?=\S)([^_]+?)_(?!\w)/g, "*$1*")
    .replace(/[’‘]/g, "'")
    .trim();
}
