import { announce } from "./dom.js";
import { spokenText } from "./messages.js";

/** Tells screen readers what came and what changed between two states of the same person. */
export function tellOfNews({ before, now, openThread, feed, threadFeed, app }) {
  if (before === null || before.me !== now.me) return;
  if (before.current?.channel === now.current.channel) {
    tellOfMessages(before.current.messages, now.current.messages, feed, app);
    tellOfReplies(before.current.messages, now.current.messages, openThread, app);
    const { thread } = now.current;
    if (thread !== null && before.current.thread?.ts === thread.ts) {
      // Without the root, which the channel tells of.
      tellOfMessages(before.current.thread.messages, thread.messages.slice(1), threadFeed, app);
    }
  }
  for (const channel of now.channels) {
    const was = before.channels.find(({ id }) => id === channel.id)?.unread ?? 0;
    if (channel.unread > was && channel.id !== now.current.channel)
      announce(`New message in ${channel.name}`);
  }
}

function tellOfMessages(before, now, feed, app) {
  for (const message of now) {
    if (message.user === app.names.me) continue;
    const old = before.find(({ ts }) => ts === message.ts);
    const isChanged = old !== undefined && contentOf(old) !== contentOf(message);
    if (old !== undefined && !isChanged) continue;
    const what = isChanged ? " changed" : message.isEphemeral ? ", to you only" : "";
    announce(`${app.authorOf(message)}${what}: ${spokenText(feed, message.ts)}`);
  }
}

function contentOf({ text, blocks }) {
  return JSON.stringify([text, blocks]);
}

/** Of threads that the person follows and has not open. */
function tellOfReplies(before, now, openThread, app) {
  for (const message of now) {
    const was = before.find(({ ts }) => ts === message.ts)?.replies?.count ?? 0;
    const { replies } = message;
    if (replies === null || replies.count <= was || !replies.isUnread || message.ts === openThread) continue;
    announce(`New reply to ${app.authorOf(message)} in a thread`);
  }
}
