/** What people write when they only thank or agree, in the languages of Slack's client. */
const THANKS = {
  english:
    "thanks, thank you, thanks a lot, many thanks, thx, ty, cheers, so much, very much, ok, okay, " +
    "got it, great, perfect, nice, cool, awesome, well done",
  german: "danke, danke schön, dankeschön, vielen dank, super, prima, alles klar",
  spanish: "gracias, muchas gracias, vale, genial, perfecto",
  french: "merci, merci beaucoup, parfait, d accord",
  italian: "grazie, grazie mille, perfetto, va bene",
  portuguese: "obrigado, obrigada, muito obrigado, muito obrigada, valeu, perfeito",
  japanese: "ありがとう, ありがとうございます, ありがとうございました, 了解, 了解です",
  korean: "감사합니다, 고맙습니다, 고마워요, 좋아요",
  chinese: "谢谢, 謝謝, 多谢, 多謝, 好的, 收到",
} as const;

const PHRASES = Object.values(THANKS)
  .flatMap((phrases) => phrases.split(", "))
  .toSorted((a, b) => b.length - a.length)
  .join("|");

/** One phrase after another. Languages that write without spaces need none between them. */
const ONLY_THANKS = new RegExp(String.raw`^(?:(?:${PHRASES})(?:\s+|$|(?<=\p{Lo})(?=\p{Lo})))+$`, "u");

/** Slack's names for emoji, such as `:+1:`. */
const NAMED_EMOJI = /:[\p{L}\p{N}_+'-]+:(?::skin-tone-[2-6]:)?/gu;
/** Pictures, and the parts that change or join them. */
const EMOJI = /\p{Extended_Pictographic}|\p{Emoji_Modifier}|\p{Regional_Indicator}|\u200d|\ufe0f|\u20e3/gu;

/** Faces that people type with punctuation. */
const FACES = /(?<!\S)(?:[:;=]-?[)D(P]|<3)(?!\S)/g;

/** A text with spaces in place of its emoji and faces. */
export function withoutEmoji(text: string): string {
  return text.replaceAll(NAMED_EMOJI, " ").replaceAll(EMOJI, " ").replaceAll(FACES, " ");
}

/** True if a text is only thanks, "ok", emoji, or these together. */
export function isOnlyThanks(text: string): boolean {
  const rest = withoutEmoji(text);
  const words = plainWords(rest);
  return words === "" ? rest.trim() !== text.trim() && !/[^\s\p{P}]/u.test(rest) : ONLY_THANKS.test(words);
}

/** The words of a text in lower case with single spaces between them, without punctuation. */
export function plainWords(text: string): string {
  return text
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}]+/gu, " ")
    .trim();
}
