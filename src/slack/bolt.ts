import { createRequire } from "node:module";
import type * as Bolt from "@slack/bolt";

/**
 * The parts of Bolt that the app uses, each from its own file. The package's index also loads the
 * receivers for Express and AWS, which costs 50 ms of processor time and 7 MB at start. They are
 * required rather than imported, because loaders of ES modules disagree about CommonJS files with a
 * default export. Their types come from the index.
 */
const load = createRequire(import.meta.url);

export const { default: App }: { default: typeof Bolt.App } = load("@slack/bolt/dist/App.js");
export const { default: HTTPReceiver }: { default: typeof Bolt.HTTPReceiver } = load(
  "@slack/bolt/dist/receivers/HTTPReceiver.js",
);
export const { default: SocketModeReceiver }: { default: typeof Bolt.SocketModeReceiver } = load(
  "@slack/bolt/dist/receivers/SocketModeReceiver.js",
);
export const { parseHTTPRequestBody }: typeof Bolt.HTTPModuleFunctions = load(
  "@slack/bolt/dist/receivers/HTTPModuleFunctions.js",
);
