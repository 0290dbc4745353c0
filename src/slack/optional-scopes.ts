/**
 * The scopes that may be left out when the app is installed, and what is missing without each. They
 * match manifest.yml.
 */
export const OPTIONAL_SCOPES: Readonly<Record<string, string>> = {
  "channels:history": "threads in public channels can't go along; after a crash, a post there may be doubled",
  "groups:history": "threads in private channels can't go along; after a crash, a post there may be doubled",
  "im:history":
    "what people write to the app in direct messages isn't heard; after a crash, one of its own " +
    "may be doubled",
  "channels:read": "public channels have no names in prompts, and are left out of lists",
  "groups:read": "private channels have no names in prompts, and are left out of lists",
  "files:read": "images and files stay in Slack",
  "files:write": "long changes aren't sent as files",
  "reactions:write": "no reactions under the messages that ask",
};
