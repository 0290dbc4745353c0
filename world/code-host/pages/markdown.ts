import rehypeRaw from "rehype-raw";
import rehypeSanitize from "rehype-sanitize";
import rehypeStringify from "rehype-stringify";
import remarkBreaks from "remark-breaks";
import remarkGfm from "remark-gfm";
import remarkParse from "remark-parse";
import remarkRehype from "remark-rehype";
import { unified } from "unified";

const MAX_CHARS = 65_536;

// What `rehype-sanitize` lets through by default is GitHub's own list.
const toHtml = unified()
  .use(remarkParse)
  .use(remarkGfm)
  .use(remarkBreaks)
  .use(remarkRehype, { allowDangerousHtml: true })
  .use(rehypeRaw)
  .use(rehypeSanitize)
  .use(rehypeStringify)
  .freeze();

/**
 * A description's Markdown as HTML that is safe to show, as GitHub draws it: tables, task lists,
 * folded sections, each line break. Mentions and numbers of issues stay text.
 */
export function markdownHtml(text: string): string {
  return String(toHtml.processSync(text.slice(0, MAX_CHARS)));
}
