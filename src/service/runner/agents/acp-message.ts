import type { AnyMessage } from "@agentclientprotocol/sdk";
import { isJsonFields, type JsonFields, jsonList } from "../../../shared/text/json-fields.ts";
import { jsonOf, startOf } from "../../../shared/text/text.ts";

/** Where agents put the file's name if they give no location. */
const PATH_KEYS = ["path", "file_path", "filePath", "abs_path", "absolute_path"] as const;
/** The most paths of a call that somebody could look at. */
export const MAX_KNOWN_PATHS = 1000;
/** Linux takes no longer ones. */
export const MAX_PATH_CHARS = 4096;

/** Of all texts in a part of a message together. */
const MAX_TEXT_CHARS = 64_000;
const MAX_ID_CHARS = 500;
const MAX_KEY_CHARS = 200;
const MAX_ITEMS = 100;
const MAX_VALUES = 2000;
const MAX_DEPTH = 10;
/** The parts of an answer that we read. */
const OF_ANSWERS = ["protocolVersion", "agentCapabilities", "sessionId", "stopReason"];
const OF_CALLS = ["sessionUpdate", "title", "kind", "status"];
/** The kinds of update that are read as they are. */
const READ_WHOLE = ["agent_message_chunk", "plan", "usage_update"];
/** Stands for an update of any kind that nobody reads. */
const UNREAD = { sessionUpdate: "user_message_chunk", content: { type: "text", text: "" } };

/** Where a message may begin in a line. Its fields may be in any order. */
const BEGINS = /\{\s*"(?:jsonrpc|id|method|params|result|error)"\s*:/;

/**
 * What is read of a line. Some agents print a greeting without a line end, and their first message
 * stands after it. Empty if the line has no message.
 */
export function readLine(line: string): AnyMessage {
  const whole = jsonOf(line);
  if (whole !== undefined) return readMessage(whole);
  const found = jsonOf(line.slice(BEGINS.exec(line)?.index ?? line.length));
  return readMessage(isJsonFields(found) && "jsonrpc" in found ? found : null);
}

/**
 * Keeps of a message what is read of it, in one pass: texts, lists and paths that are longer than
 * anybody uses are cut. The protocol's client checks each part against the kinds that it could be,
 * which takes a hundred times as long as parsing it, and repeats each fault in words.
 */
function readMessage(said: unknown): AnyMessage {
  const message: AnyMessage = JSON.parse("{}");
  return isJsonFields(said) ? Object.assign(message, partsOf(said)) : message;
}

function partsOf(said: JsonFields): JsonFields {
  const { params, result } = said;
  return {
    ...pick(said, ["jsonrpc", "id", "method", "error"]),
    ...("params" in said && {
      params: isJsonFields(params) ? paramsOf(said["method"], params) : whole(params),
    }),
    ...("result" in said && { result: isJsonFields(result) ? pick(result, OF_ANSWERS) : whole(result) }),
  };
}

function paramsOf(method: unknown, params: JsonFields): unknown {
  const { sessionId, update, toolCall, options } = params;
  switch (method) {
    case "session/update":
      return { sessionId: whole(sessionId), update: isJsonFields(update) ? updateOf(update) : whole(update) };
    case "session/request_permission": {
      const call = isJsonFields(toolCall) ? callOf(toolCall) : whole(toolCall);
      return { sessionId: whole(sessionId), toolCall: call, options: whole(options) };
    }
    default:
      return whole(params);
  }
}

function updateOf(update: JsonFields): unknown {
  const { sessionUpdate: kind } = update;
  if (kind === "tool_call" || kind === "tool_call_update") return callOf(update);
  return READ_WHOLE.some((each) => each === kind) ? whole(update) : UNREAD;
}

/** Of what a call is about, shows and returns, the names of files, all as its locations. */
function callOf(call: JsonFields): JsonFields {
  const { toolCallId: id, locations, content, rawInput } = call;
  const given = isJsonFields(rawInput) ? PATH_KEYS.map((name) => rawInput[name]) : [];
  const changed = jsonList(content).filter((part) => isJsonFields(part) && part["type"] === "diff");
  const named = [...jsonList(locations), ...changed].map((item) =>
    isJsonFields(item) ? item["path"] : null,
  );
  const paths = new Set([...named, ...given].filter((path) => typeof path === "string"));
  return {
    ...pick(call, OF_CALLS),
    toolCallId: typeof id === "string" ? startOf(id, MAX_ID_CHARS) : whole(id),
    // If there are too many, or they are too long, one too many shows that.
    locations: [...paths]
      .slice(0, MAX_KNOWN_PATHS + 1)
      .map((path) => ({ path: startOf(path, MAX_PATH_CHARS + 1) })),
  };
}

/** A copy of a value, without what is beyond the limits. */
function whole(value: unknown): unknown {
  let left = MAX_VALUES;
  let charsLeft = MAX_TEXT_CHARS;
  function copy(each: unknown, depth: number): unknown {
    left -= 1;
    if (typeof each === "string") {
      const text = startOf(each, charsLeft);
      charsLeft -= text.length;
      return text;
    }
    if (typeof each !== "object" || each === null) return each;
    if (depth === MAX_DEPTH) return null;
    if (Array.isArray(each)) {
      const items = jsonList(each).slice(0, MAX_ITEMS);
      return items.flatMap((item) => within(item, depth));
    }
    const entries = Object.entries(each).slice(0, MAX_ITEMS);
    return Object.fromEntries(
      entries.flatMap(([key, item]) =>
        key.length > MAX_KEY_CHARS ? [] : within(item, depth).map((copied) => [key, copied]),
      ),
    );
  }
  const within = (item: unknown, depth: number) => (left > 0 ? [copy(item, depth + 1)] : []);
  return copy(value, 0);
}

/** Copies of these fields, as far as they are there. */
function pick(fields: JsonFields, names: readonly string[]): JsonFields {
  return Object.fromEntries(
    names.flatMap((name) => (Object.hasOwn(fields, name) ? [[name, whole(fields[name])]] : [])),
  );
}
