import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** A type, as written in a declaration file. */
type Type =
  | { kind: "name"; name: string }
  | { kind: "literal"; value: string }
  | { kind: "list"; of: Type }
  | { kind: "union" | "all"; of: Type[] }
  | { kind: "fields"; fields: Map<string, Type> };

/** An example of a type, and the field that each of its marker words stands in. */
export type Sample = { value: unknown; markers: ReadonlyMap<string, string> };

const TOKEN = /'[^']*'|[\w$.]+|[{}[\]()|&,;:?<>=]/g;

/** Matches a type up to the beginning of the next declaration. */
const TYPE = /^(?:export )?type (\w+) = ([\s\S]*?);(?=\s*(?:export |interface |type |declare |(?![\s\S])))/gm;

/** Reads the types of declaration files. Knows only the part of TypeScript that these files use. */
class Declarations {
  readonly types = new Map<string, Type>();
  #tokens: string[] = [];

  constructor(files: readonly string[]) {
    for (const file of files) {
      const text = readFileSync(file, "utf8").replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");
      for (const [, name = "", parents, body = ""] of text.matchAll(
        /^(?:export )?interface (\w+)(?: extends ([^{]+))? (\{[\s\S]*?^\})/gm,
      )) {
        const own = this.#parse(body);
        const others = (parents ?? "").split(",").map((parent) => parent.trim());
        const inherited = others.filter(Boolean).map((parent): Type => ({ kind: "name", name: parent }));
        this.types.set(name, { kind: "all", of: [...inherited, own] });
      }
      for (const [, name = "", body = ""] of text.matchAll(TYPE)) {
        this.types.set(name, this.#parse(body));
      }
    }
  }

  #parse(text: string): Type {
    this.#tokens = text.match(TOKEN) ?? [];
    return this.#type();
  }

  #takes(token: string): boolean {
    if (this.#tokens[0] !== token) return false;
    this.#tokens.shift();
    return true;
  }

  #type(): Type {
    const parts = [this.#joined("&")];
    while (this.#takes("|")) parts.push(this.#joined("&"));
    return parts.length === 1 ? parts[0]! : { kind: "union", of: parts };
  }

  #joined(token: "&"): Type {
    const parts = [this.#one()];
    while (this.#takes(token)) parts.push(this.#one());
    return parts.length === 1 ? parts[0]! : { kind: "all", of: parts };
  }

  #one(): Type {
    let type = this.#simple();
    while (this.#takes("[")) {
      // Otherwise it is a field of another type.
      type = this.#takes("]") ? { kind: "list", of: type } : this.#skipped("[", "]");
    }
    return type;
  }

  #simple(): Type {
    if (this.#takes("(")) {
      const type = this.#type();
      this.#takes(")");
      return type;
    }
    if (this.#takes("{")) return this.#fields();
    const token = this.#tokens.shift() ?? "";
    if (token.startsWith("'")) return { kind: "literal", value: token.slice(1, -1) };
    if (token === "[") return this.#skipped("[", "]");
    if (this.#takes("<")) return this.#skipped("<", ">");
    return { kind: "name", name: token };
  }

  /** Skips something without words in it: a tuple, or the arguments of a generic type. */
  #skipped(open: string, close: string): Type {
    for (let depth = 1; depth > 0 && this.#tokens.length > 0;) {
      const token = this.#tokens.shift();
      depth += token === open ? 1 : token === close ? -1 : 0;
    }
    return { kind: "name", name: "unknown" };
  }

  #fields(): Type {
    const fields = new Map<string, Type>();
    while (!this.#takes("}")) {
      if (this.#tokens.length === 0) throw new Error("an object type without an end");
      // Any name may be a field.
      if (this.#takes("[")) this.#skipped("[", "]");
      const name = this.#tokens[0] === ":" ? "" : (this.#tokens.shift() ?? "");
      this.#takes("?");
      this.#takes(":");
      const type = this.#type();
      if (name !== "") fields.set(name, type);
      this.#takes(";");
    }
    return { kind: "fields", fields };
  }
}

const DIST = fileURLToPath(new URL("../../node_modules/@slack/types/dist/", import.meta.url));
const FILES = [
  "block-kit/blocks.d.ts",
  "block-kit/block-elements.d.ts",
  "block-kit/composition-objects.d.ts",
  "block-kit/extensions.d.ts",
  "message-attachments.d.ts",
  "events/message.d.ts",
];

const { types } = new Declarations(FILES.map((file) => DIST + file));

/** Returns the types in a union or a list of names. */
export function membersOf(name: string): string[] {
  const type = types.get(name);
  if (type === undefined) throw new Error(`no type ${name}`);
  const of = type.kind === "union" ? type.of : [type];
  return of.flatMap((part) => (part.kind === "name" ? [part.name] : []));
}

/**
 * Returns examples of a type, with a unique word in each text field. Together they have every field
 * with every kind of value.
 */
export function samplesOf(name: string, without: readonly string[] = []): Sample[] {
  return variantsOf({ kind: "name", name }, name, without).map((draw) => {
    const markers = new Map<string, string>();
    return { value: draw(markers), markers };
  });
}

/** Types that are a text. Their words belong to the field that has them. */
const TEXTS: ReadonlySet<string> = new Set(["PlainTextElement", "MrkdwnElement"]);

type Draw = (markers: Map<string, string>) => unknown;

function variantsOf(type: Type, field: string, inside: readonly string[]): Draw[] {
  switch (type.kind) {
    case "literal":
      return [() => type.value];
    case "list": {
      const each = variantsOf(type.of, field, inside);
      return [(markers) => each.map((draw) => draw(markers))];
    }
    case "union": {
      const literals = type.of.filter(({ kind }) => kind === "literal");
      const others = type.of.filter((part) => part.kind !== "literal" && !isNull(part));
      return (others.length > 0 ? others : literals.slice(0, 1)).flatMap((part) =>
        variantsOf(part, field, inside),
      );
    }
    case "name":
      return namedVariants(type.name, field, inside);
    case "fields":
    case "all":
      return objectVariants(type, field, inside);
  }
}

function isNull(type: Type): boolean {
  return type.kind === "name" && type.name === "null";
}

function namedVariants(name: string, field: string, inside: readonly string[]): Draw[] {
  if (name === "string") {
    return [
      (markers) => {
        const marker = `word${markers.size}of${field.replaceAll(/\W/g, "")}`;
        markers.set(marker, field);
        return marker;
      },
    ];
  }
  if (name === "number" || name === "0" || name === "1") return [() => 1];
  if (name === "boolean") return [() => true];
  const type = types.get(name);
  // A type inside itself was already seen on the way.
  if (type === undefined || inside.includes(name)) return [() => undefined];
  const owner = TEXTS.has(name) || type.kind === "union" ? field : name;
  return variantsOf(type, owner, [...inside, name]);
}

/**
 * Returns an object with all its fields at once, and again for each kind of value that a field may
 * have.
 */
function objectVariants(type: Type, owner: string, inside: readonly string[]): Draw[] {
  return shapesOf(type).flatMap((fields) => {
    const entries = [...fields].map(([name, of]) => ({
      name,
      variants: variantsOf(of, `${owner}.${name}`, inside),
    }));
    const most = Math.max(1, ...entries.map(({ variants }) => variants.length));
    return Array.from(
      { length: most },
      (_, n): Draw =>
        (markers) =>
          Object.fromEntries(
            entries.flatMap(({ name, variants }) => {
              const value = (variants[n] ?? variants[0])?.(markers);
              return value === undefined ? [] : [[name, value] as const];
            }),
          ),
    );
  });
}

/** Returns the sets of fields that an object type may have. */
function shapesOf(type: Type): Map<string, Type>[] {
  switch (type.kind) {
    case "fields":
      return [type.fields];
    case "union":
      return type.of.flatMap(shapesOf);
    case "all":
      return type.of.reduce<Map<string, Type>[]>(
        (before, part) => before.flatMap((fields) => shapesOf(part).map((more) => joined(fields, more))),
        [new Map()],
      );
    case "name": {
      const named = types.get(type.name);
      return named === undefined ? [new Map()] : shapesOf(named);
    }
    default:
      return [new Map()];
  }
}

/** Joins the fields of both. A type keeps the name that was known first. */
function joined(fields: Map<string, Type>, more: Map<string, Type>): Map<string, Type> {
  const known = fields.get("type");
  return new Map([...fields, ...more, ...(known?.kind === "literal" ? [["type", known] as const] : [])]);
}
