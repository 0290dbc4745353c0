import rehypeRaw from "rehype-raw";
import rehypeSanitize from "rehype-sanitize";
import rehypeStringify from "rehype-stringify";
import remarkBreaks from "remark-breaks";
import remarkGfm from "remark-gfm";
import remarkParse from "remark-parse";
import remarkRehype from "remark-rehype";
import { unified } from "unified";

const MAX_CHARS = 65_536;

// The default list of `rehype-sanitize` is GitHub's own.
const toHtml = unified()
  .use(remarkParse)
  .use(remarkGfm)
  .use(remarkBreaks)
  .use(remarkRehype, { allowDangerousHtml: true })
  .use(rehypeRaw)
  .use(rehypeSanitize)
  .use(rehypeStringify)
  .freeze();

/** The box of a task list, which alone says whether a task is done. */
const CHECKBOX = /<input type="checkbox"( checked)? disabled>/g;

/**
 * Returns a description's Markdown as HTML that is safe to show and looks as on GitHub: with
 * tables, task lists, folded sections, and each line break. Mentions and numbers of issues stay
 * text.
 */
export function markdownHtml(text: string): string {
  const html = String(toHtml.processSync(text.slice(0, MAX_CHARS)));
  return html.replaceAll(CHECKBOX, (box, isDone?: string) =>
    box.replace(">", ` aria-label="${isDone === undefined ? "Incomplete" : "Completed"} task">`),
  );
}
