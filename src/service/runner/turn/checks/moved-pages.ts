/** A page that a change moved. */
type Moved = readonly [from: string, to: string];

/**
 * Returns a function that gives old names of pages their new ones in a line of a tool's output: one
 * line for each way in which tools shorten a page's path.
 */
export function createRename(moved: readonly Moved[]): (line: string) => string[] {
  if (moved.length === 0) return () => [];
  const names = new Map(moved.flatMap(namesOfMoved));
  const files = new Map(moved.flatMap((pair) => named(pair.map((path) => path.split("/").slice(-1)))));
  const spaced = moved.filter(([from]) => PATH_END.test(from));
  const renamed = (line: string, rename: (path: string) => string) =>
    spaced.reduce((rest, [from, into]) => rest.replaceAll(from, into), line).replace(PATH, rename);
  return (line) => [
    renamed(line, (path) => renamedPath(path, names)),
    renamed(line, (path) =>
      path.replace(/[^/]+$/, (name) => (isPath(path) ? files.get(name) : null) ?? name),
    ),
  ];
}

const PATH = /[^\s"'`()<>[\]{},:;|]+/g;
const PATH_END = /[\s"'`()<>[\]{},:;|]/;
/** What addresses of pages leave out or write in another way. */
const ENDING = /(?:(?:^|\/)(?:index|README))?\.(?:mdx?|markdown|rst|adoc|html?)$/;

const MAX_PATH_CHARACTERS = 500;

/** A page's route may be a common word, and what is longer names no page. */
function isPath(text: string): boolean {
  return text.length <= MAX_PATH_CHARACTERS && /[./]/.test(text);
}

/** The path, with the longest of its ends that is an old name replaced. */
function renamedPath(path: string, names: ReadonlyMap<string, string>): string {
  if (!isPath(path)) return path;
  for (let at = 0; at >= 0; at = path.indexOf("/", at) + 1 || -1) {
    const end = path.slice(at);
    const slash = end.endsWith("/") ? "/" : "";
    const ending = end.endsWith(".html") ? ".html" : slash;
    const into = names.get(end) ?? names.get(end.slice(0, end.length - ending.length));
    if (into === undefined) continue;
    return path.slice(0, at) + (names.has(end) ? into : into + ending);
  }
  return path;
}

/** A moved page's old and new names, below each folder that both are in. */
function namesOfMoved([from, to]: Moved): [string, string][] {
  const [olds, news] = [from.split("/"), to.split("/")];
  let shared = 0;
  while (shared < olds.length - 1 && olds[shared] === news[shared]) shared += 1;
  return Array.from({ length: shared + 1 }, (_, at) => [olds.slice(at), news.slice(at)]).flatMap(named);
}

/** An old and a new name, as of a page and as of a route. */
function named(pair: readonly string[][]): [string, string][] {
  const [old = "", now = ""] = pair.map((parts) => parts.join("/"));
  const [oldRoute, newRoute] = [old.replace(ENDING, ""), now.replace(ENDING, "")];
  const isRoute = oldRoute !== old && oldRoute !== "" && newRoute !== "";
  const route: [string, string][] = isRoute ? [[oldRoute, newRoute]] : [];
  return [[old, now], ...route];
}
