import { expect, it } from "vitest";
import { isOnlyThanks } from "../../../src/app/intake/thanks.ts";

it.each([
  "thanks",
  "THANKS!!!",
  "thank you so much",
  "ok",
  "Okay.",
  "ok thanks, great!",
  "thx :)",
  "cheers 🍻",
  "Danke schön!",
  "super, danke",
  "muchas gracias",
  "¡perfecto!",
  "d'accord, merci",
  "va bene, grazie mille",
  "muito obrigada 💛",
  "ありがとうございました。",
  "了解です！",
  "감사합니다!",
  "好的谢谢",
  "多謝",
  "👍",
  "👍🏾👍🏾",
  "🇩🇪",
  "❤️",
  ":tada: :tada:",
  ":+1::skin-tone-2:",
  ":)",
  "<3",
])("%j is only thanks", (text) => {
  expect(isOnlyThanks(text)).toBe(true);
});

it.each([
  "",
  " ",
  "!",
  "...",
  "thanks, now the glossary",
  "ok, go ahead",
  "no thanks needed",
  "thanksgiving",
  "great typo on the start page",
  "danke, aber die FAQ fehlt",
  ":tada: now the FAQ",
  "👍 2",
  "okdo",
  "谢谢你改一下",
  "ありがとうの綴り",
  "$5",
  "👍 <br>",
])("%j is more, or nothing", (text) => {
  expect(isOnlyThanks(text)).toBe(false);
});
