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
