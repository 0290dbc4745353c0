import type * as Bolt from "@slack/bolt";
import { createRequire, Module } from "node:module";

/**
 * The parts of Bolt that the app uses, each from its own file. The package's index also loads the
 * receivers for Express and AWS, which costs 50 ms of processor time and 7 MB at start. They are
 * required rather than imported, because loaders of ES modules disagree about CommonJS files with a
 * default export. Their types come from the index.
 */
const load = createRequire(import.meta.url);

/**
 * Bolt's App loads its receivers, with OAuth and undici, whether they are used or not, which takes
 * a quarter of a start. They are loaded at their first use instead.
 */
function loadWhenUsed(name: string): void {
  const file = load.resolve(`@slack/bolt/dist/receivers/${name}.js`);
  if (load.cache[file] !== undefined) return;
  const later: unknown = {
    __esModule: true,
    get default(): unknown {
      if (load.cache[file]?.exports === later) delete load.cache[file];
      return load(file).default;
    },
  };
  load.cache[file] = Object.assign(new Module(file), { loaded: true, exports: later });
}
loadWhenUsed("HTTPReceiver");
loadWhenUsed("SocketModeReceiver");

export const { default: App }: { default: typeof Bolt.App } = load("@slack/bolt/dist/App.js");

export function newSocketModeReceiver(options: Bolt.SocketModeReceiverOptions): Bolt.SocketModeReceiver {
  const { default: Receiver }: { default: typeof Bolt.SocketModeReceiver } = load(
    "@slack/bolt/dist/receivers/SocketModeReceiver.js",
  );
  return new Receiver(options);
}

/**
 * True if a parsed request or Socket Mode payload has the form of everything that Slack sends: an
 * object, and for events an event with a type.
 */
export function isSlackBody(body: unknown): body is Record<string, unknown> {
  if (!isObject(body)) return false;
  if (body["type"] !== "event_callback") return true;
  return isObject(body["event"]) && typeof body["event"]["type"] === "string";
}

/**
 * True if Bolt can read an event. Bolt looks inside these parts and throws if, for example, one is
 * null.
 */
export function canBoltRead(event: unknown): boolean {
  if (!isObject(event)) return false;
  return ["user", "channel", "item", "subteam"].every((name) => {
    const part = event[name];
    const isId = typeof part === "string" && (name === "user" || name === "channel");
    return part === undefined || isId || isObject(part);
  });
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
