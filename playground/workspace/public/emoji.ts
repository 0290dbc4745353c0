/**
 * The short names that people and apps use most. Every other name is shown as it is written, as
 * Slack shows unknown ones.
 */
const CHARACTERS: Readonly<Record<string, string>> = {
  "+1": "👍",
  "-1": "👎",
  thumbsup: "👍",
  tada: "🎉",
  eyes: "👀",
  fire: "🔥",
  rocket: "🚀",
  bug: "🐛",
  wave: "👋",
  heart: "❤️",
  smile: "😄",
  blush: "😊",
  slightly_smiling_face: "🙂",
  joy: "😂",
  thinking_face: "🤔",
  sweat_smile: "😅",
  cry: "😢",
  pray: "🙏",
  clap: "👏",
  raised_hands: "🙌",
  ok_hand: "👌",
  point_right: "👉",
  point_up: "☝️",
  bulb: "💡",
  memo: "📝",
  pencil2: "✏️",
  books: "📚",
  book: "📖",
  link: "🔗",
  mag: "🔍",
  gear: "⚙️",
  wrench: "🔧",
  hammer: "🔨",
  lock: "🔒",
  key: "🔑",
  hourglass: "⌛",
  hourglass_flowing_sand: "⏳",
  clock: "🕰️",
  stopwatch: "⏱️",
  calendar: "📆",
  bell: "🔔",
  white_check_mark: "✅",
  heavy_check_mark: "✔️",
  x: "❌",
  warning: "⚠️",
  no_entry: "⛔",
  question: "❓",
  exclamation: "❗",
  information_source: "ℹ️",
  robot_face: "🤖",
  sparkles: "✨",
  star: "⭐",
  zzz: "💤",
  package: "📦",
  construction: "🚧",
  rotating_light: "🚨",
  arrow_right: "➡️",
  repeat: "🔁",
  large_green_circle: "🟢",
  red_circle: "🔴",
};

const SHORT_NAME = /:([a-z0-9_+-]{1,64}):/g;

/** Returns the character of a short name, or null. */
export function emojiNamed(name: string): string | null {
  return Object.hasOwn(CHARACTERS, name) ? (CHARACTERS[name] ?? null) : null;
}

/** Replaces every known short name in a text with its character. */
export function withEmoji(text: string): string {
  return text.replace(SHORT_NAME, (written, name: string) => emojiNamed(name) ?? written);
}

/**
 * Returns the character of an element of rich text: from its code points if it has them, or else
 * from its name.
 */
export function emojiElement({ name, unicode }: { name: string; unicode?: string | undefined }): string {
  if (unicode !== undefined && /^[0-9a-f]{1,6}(-[0-9a-f]{1,6})*$/i.test(unicode)) {
    const points = unicode.split("-").map((point) => Number.parseInt(point, 16));
    if (points.every((point) => point <= 0x10ffff)) return String.fromCodePoint(...points);
  }
  return emojiNamed(name) ?? `:${name}:`;
}
