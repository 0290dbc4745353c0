import type { AgentMood } from "../agent-mood.ts";
import type { Ask } from "./which-page.ts";

/** The operations that a turn can use on the client's side. */
export type TurnOperations = {
  /** Resolves to the relative names of all files. */
  listFiles(): Promise<string[]>;
  read(path: string): Promise<string>;
  /** Tells the client that a page is being read, until `look` resolves. */
  lookAt(path: string, look: () => Promise<void>): Promise<void>;
  /** Writes a page, and shows the client the text before and after. */
  write(path: string, before: string, after: string): Promise<void>;
  /** Writes a file outside of the docs that the client has asked for. */
  writeAside(file: string, text: string): Promise<void>;
  /** Tells the client what is going on. */
  think(text: string): Promise<void>;
  /** Waits for a person without a limit of time. */
  ask: Ask;
  /** Sends the turn's last message. */
  say(text: string): Promise<void>;
  /** Returns the present mood, which can change while a turn runs. */
  moodOf: () => AgentMood;
  readonly signal: AbortSignal;
};
