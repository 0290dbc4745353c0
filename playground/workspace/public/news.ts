import type { PageMessage, PageState } from "../page-protocol.ts";
import type { PageApp } from "./app.ts";
import { announce } from "./dom.ts";
import { spokenText } from "./messages.ts";

type News = {
  before: PageState | null;
  now: PageState;
  openThread: string;
  feed: HTMLElement;
  threadFeed: HTMLElement;
  app: PageApp;
};

/** Tells screen readers what was added or changed between two states of the same person. */
export function tellOfNews({ before, now, openThread, feed, threadFeed, app }: News): void {
  if (before === null || before.me !== now.me || now.current === null) return;
  if (before.current?.channel === now.current.channel) {
    tellOfMessages(before.current.messages, now.current.messages, feed, app);
    tellOfReplies(before.current.messages, now.current.messages, openThread, app);
    const { thread } = now.current;
    const was = before.current.thread;
    if (thread !== null && was?.ts === thread.ts) {
      // Without the root, which is announced with the channel.
      tellOfMessages(was.messages, thread.messages.slice(1), threadFeed, app);
    }
  }
  for (const channel of now.channels) {
    const was = before.channels.find(({ id }) => id === channel.id)?.unread ?? 0;
    if (channel.unread > was && channel.id !== now.current.channel)
      announce(`New message in ${channel.name}`);
  }
}

function tellOfMessages(
  before: readonly PageMessage[],
  now: readonly PageMessage[],
  feed: HTMLElement,
  app: PageApp,
): void {
  for (const message of now) {
    if (message.user === app.names.me()) continue;
    const old = before.find(({ ts }) => ts === message.ts);
    const isChanged = old !== undefined && contentOf(old) !== contentOf(message);
    if (old !== undefined && !isChanged) continue;
    const what = isChanged ? " changed" : message.isEphemeral ? ", to you only" : "";
    announce(`${app.authorOf(message)}${what}: ${spokenText(feed, message.ts)}`);
  }
}

function contentOf({ text, blocks }: PageMessage): string {
  return JSON.stringify([text, blocks]);
}

/** Announces replies in threads that the person follows and that aren't open. */
function tellOfReplies(
  before: readonly PageMessage[],
  now: readonly PageMessage[],
  openThread: string,
  app: PageApp,
): void {
  for (const message of now) {
    const was = before.find(({ ts }) => ts === message.ts)?.replies?.count ?? 0;
    const { replies } = message;
    if (replies === null || replies.count <= was || !replies.isUnread || message.ts === openThread) continue;
    announce(`New reply to ${app.authorOf(message)} in a thread`);
  }
}
