// Reads from the types of the model SDKs what a request's body can have. `npm run model-bodies`
// installs the newest SDKs and writes known.json. A test compares it with what the gateway allows.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const FOLDER = new URL("./", import.meta.url);
const KNOWN = new URL("known.json", FOLDER);

const ANTHROPIC = "@anthropic-ai/sdk/resources/messages/messages.d.ts";
const ANTHROPIC_BETA = "@anthropic-ai/sdk/resources/beta/messages/messages.d.ts";
const ANTHROPIC_BETAS = "@anthropic-ai/sdk/resources/beta/beta.d.ts";
const OPENAI_CHAT = "openai/resources/chat/completions/completions.d.ts";
const OPENAI_RESPONSES = "openai/resources/responses/responses.d.ts";
const GEMINI = "@google/genai/dist/genai.d.ts";
const FILES = [ANTHROPIC, ANTHROPIC_BETA, ANTHROPIC_BETAS, OPENAI_CHAT, OPENAI_RESPONSES, GEMINI];
const SDKS = ["@anthropic-ai/sdk", "@google/genai", "openai"];

/** The types of each body, by the name that it has in `model-bodies.ts`. */
const BODIES = {
  anthropic: [
    [ANTHROPIC, "MessageCreateParamsBase"],
    [ANTHROPIC, "MessageCountTokensParams"],
    [ANTHROPIC_BETA, "MessageCreateParamsBase"],
    [ANTHROPIC_BETA, "MessageCountTokensParams"],
  ],
  openAiChat: [[OPENAI_CHAT, "ChatCompletionCreateParamsBase"]],
  openAiResponses: [
    [OPENAI_RESPONSES, "ResponseCreateParamsBase"],
    [OPENAI_RESPONSES, "ResponseCompactParams"],
  ],
};
/** Fields that the SDKs use themselves, or send as headers. */
const NOT_SENT = {
  anthropic: ["betas", "user_profile_id", "workspace_id"],
  gemini: ["httpOptions", "abortSignal"],
};
/** Fields that are beside `generationConfig` in the body. The SDK's type has all fields in one. */
const GEMINI_BESIDE = new Set(
  "systemInstruction tools toolConfig safetySettings cachedContent labels serviceTier store".split(" "),
);

/**
 * Returns what the installed SDKs know: their versions, Anthropic's betas, and each body's object
 * types. A type has the values of its field `type`, and its other fields. Each field names the
 * object types that it can hold, also in lists. It is "" for plain values and for free objects.
 */
export function readSdks() {
  const ts = createRequire(FOLDER)("typescript");
  const root = fileURLToPath(new URL("node_modules/", FOLDER));
  const options = { module: ts.ModuleKind.NodeNext, strict: true, skipLibCheck: true, types: [] };
  const program = ts.createProgram(
    FILES.map((file) => root + file),
    options,
  );
  const checker = program.getTypeChecker();
  const types = new Map();
  const names = new Map();

  function exported(file, name) {
    const module = checker.getSymbolAtLocation(program.getSourceFile(root + file));
    const symbol = checker.getExportsOfModule(module).find((one) => one.name === name);
    if (symbol === undefined) throw new Error(`${file} has no type ${name}.`);
    return checker.getDeclaredTypeOfSymbol(symbol);
  }

  /** The object types that a value of this type consists of, without lists around them. */
  function objectsIn(type) {
    if (type.isUnion()) return type.types.flatMap(objectsIn);
    if (checker.isArrayType(type) || checker.isTupleType(type)) {
      return checker.getTypeArguments(type).flatMap(objectsIn);
    }
    const isPlain = (type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection)) === 0;
    if (isPlain || type.getCallSignatures().length > 0) return [];
    // Free objects have no properties. The language's own types, such as Blob, are no bodies.
    const [property] = type.getProperties();
    const declaredIn = property?.declarations?.[0]?.getSourceFile();
    if (declaredIn === undefined || program.isSourceFileDefaultLibrary(declaredIn)) return [];
    return [type];
  }

  function nameOf(type, place) {
    const symbol = type.aliasSymbol ?? type.symbol;
    const own = symbol === undefined || symbol.name.startsWith("__") ? place : qualified(symbol);
    let name = own;
    for (let count = 2; types.has(name); count += 1) name = `${own}#${count}`;
    return name;
  }

  function qualified(symbol) {
    return checker.getFullyQualifiedName(symbol).replace(/^"[^"]*"\./, "");
  }

  function literalsIn(type) {
    return (type.isUnion() ? type.types : [type])
      .filter((one) => one.isStringLiteral())
      .map((one) => one.value);
  }

  /** Notes a type and all that it consists of. Returns its name. */
  function note(type, place) {
    const known = names.get(type);
    if (known !== undefined) return known;
    const name = nameOf(type, place);
    names.set(type, name);
    const noted = { fields: {} };
    types.set(name, noted);
    for (const property of type.getProperties()) noteField(noted, name, property);
    return name;
  }

  function noteField(noted, owner, property) {
    const type = checker.getTypeOfSymbol(property);
    const literals = property.name === "type" ? literalsIn(type) : [];
    if (literals.length > 0) noted.type = literals.join(" ");
    else if (!isNever(type)) noted.fields[property.name] = namesIn(type, `${owner}.${property.name}`);
  }

  function isNever(type) {
    const parts = type.isUnion() ? type.types : [type];
    return parts.every((one) => (one.flags & (ts.TypeFlags.Never | ts.TypeFlags.Undefined)) !== 0);
  }

  function namesIn(type, place) {
    const found = new Set(objectsIn(type).map((one) => note(one, place)));
    return [...found].toSorted().join(" | ");
  }

  const bodies = Object.fromEntries(
    Object.entries(BODIES).map(([body, roots]) => [
      body,
      roots.map(([file, name]) => note(exported(file, name), name)).join(" | "),
    ]),
  );
  noteGemini();
  for (const name of bodies.anthropic.split(" | ")) without(types.get(name), NOT_SENT.anthropic);

  /** The fields of a type that isn't itself in a body. */
  function fieldsOf(name) {
    const own = note(exported(GEMINI, name), name);
    const { fields } = types.get(own);
    types.delete(own);
    return fields;
  }

  /** Gemini's SDK has one flat `config`, of which it makes the body. */
  function noteGemini() {
    const content = note(exported(GEMINI, "Content"), "Content");
    const generation = fieldsOf("GenerationConfig");
    const entries = Object.entries(fieldsOf("GenerateContentConfig"));
    const inside = entries.filter(([name]) => !GEMINI_BESIDE.has(name));
    const beside = entries.filter(([name]) => GEMINI_BESIDE.has(name));
    types.set("gemini.generationConfig", { fields: { ...generation, ...Object.fromEntries(inside) } });
    const fields = { contents: content, ...Object.fromEntries(beside), systemInstruction: content };
    types.set("gemini", { fields: { ...fields, generationConfig: "gemini.generationConfig" } });
    types.set("gemini.generateContentRequest", { fields: { model: "", ...types.get("gemini").fields } });
    types.set("geminiCount", {
      fields: { contents: content, generateContentRequest: "gemini.generateContentRequest" },
    });
    without(types.get("gemini.generationConfig"), NOT_SENT.gemini);
    Object.assign(bodies, { gemini: "gemini", geminiCount: "geminiCount" });
  }

  const versions = SDKS.map((sdk) => {
    const { version } = JSON.parse(readFileSync(`${root}${sdk}/package.json`, "utf8"));
    return [sdk, version];
  });
  return {
    sdks: Object.fromEntries(versions),
    betas: literalsIn(exported(ANTHROPIC_BETAS, "AnthropicBeta")).toSorted(),
    bodies,
    types: Object.fromEntries([...types].toSorted(([a], [b]) => (a < b ? -1 : 1))),
  };
}

function without(noted, fields) {
  for (const field of fields) delete noted.fields[field];
}

if (import.meta.main) writeFileSync(KNOWN, `${JSON.stringify(readSdks(), null, 2)}\n`);
