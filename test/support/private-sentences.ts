/**
 * Sentences that somebody wrote where not everybody can read them: in several languages, and as
 * code.
 */
const SENTENCES = [
  "We will quietly drop support for the Globex appliance before the next summer release goes out.",
  "Das Installationsprogramm benötigt künftig für jeden größeren Knoten " +
    "mindestens vier Gigabyte an freiem Speicher dazu.",
  "Après la démo, l'équipe à côté a préféré déplacer la réunion vers le prochain été à Genève.",
  "Según el señor Peña, mañana cerramos la migración de los clientes más pequeños en la región de Málaga.",
  "W przyszłym tygodniu wyłączymy stary serwer płatności, bo nikt już nie chce za niego dalej płacić.",
  "Мы тихо отключим старый сервер оплаты в следующем месяце, потому что никто больше не платит за него.",
  "Θα κλείσουμε σιωπηλά τον παλιό διακομιστή πληρωμών τον επόμενο μήνα " +
    "γιατί κανείς δεν πληρώνει πια γι αυτόν.",
  "سنوقف خادم الدفع القديم بهدوء في الشهر القادم لأن أحدا لا يدفع ثمنه بعد الآن على الإطلاق.",
  "אנחנו נכבה בשקט את שרת התשלומים הישן בחודש הבא כי אף אחד כבר לא משלם עליו יותר.",
  "हम अगले महीने पुराने भुगतान सर्वर को चुपचाप बंद कर देंगे क्योंकि अब कोई उसके लिए पैसे नहीं देता।",
  "우리는 다음 달에 오래된 결제 서버를 조용히 끌 예정이다 왜냐하면 이제 아무도 그 비용을 내지 않기 때문이다.",
  "我们将在下个月悄悄关闭旧的支付服务器因为现在已经没有任何客户愿意继续为它付费了",
  "来月には古い決済サーバーを静かに停止する予定です誰もその費用を払わなくなったためです",
  "เราจะปิดเซิร์ฟเวอร์ชำระเงินเก่าอย่างเงียบๆในเดือนหน้าเพราะไม่มีลูกค้ารายใดยอมจ่ายเงินให้มันอีกต่อไปแล้ว",
  "Chúng tôi sẽ lặng lẽ tắt máy chủ thanh toán cũ vào tháng tới vì không còn ai trả tiền cho nó nữa.",
  "export function verifyLicenceOffline(key, seed) " +
    "{ return rotate(key, seed).endsWith(vault.suffix) && retries < 7; }",
  "key: vault://kv/prod eu-west-1 billing/licence offline-signing-key-2031 rotated-yearly",
  "if (account.plan === Plan.LEGACY && account.seats > 250) " +
    "applyHiddenDiscount(account, 0.35, reason.retention);",
  "Roadmap Q3: raise prices by 12 percent, freeze hiring in Lyon, sell the Osaka office, " +
    "tell nobody until June.",
  "TODO(dana): the checksum is never compared here, so anyone who knows the salt can forge an invoice.",
];

/** Returns the text's code points. */
function charactersOf(text: string): string[] {
  return Array.from(text);
}

/**
 * Splits a sentence into groups of words, or of characters in languages without spaces between
 * words.
 */
function parts(sentence: string, size: number): string[] {
  const words = sentence.split(" ");
  const isSpaced = words.length > 3;
  const all = isSpaced ? words : (sentence.match(/\P{M}\p{M}*/gu) ?? []);
  const groups: string[] = [];
  for (let at = 0; at < all.length; at += size) {
    groups.push(all.slice(at, at + size).join(isSpaced ? " " : ""));
  }
  return groups;
}

const isWord = /[\p{L}\p{N}]/u;
const LETTERS: Readonly<Record<string, string>> = {
  "\u0301": "acute",
  "\u0300": "grave",
  "\u0308": "uml",
  "\u0303": "tilde",
};

function byName(sentence: string): string {
  return sentence
    .normalize("NFD")
    .replaceAll(
      /([a-z])([\u0300\u0301\u0303\u0308])/gi,
      (_, letter: string, mark: string) => `&${letter}${LETTERS[mark]};`,
    )
    .replaceAll(" ", "&nbsp;")
    .normalize("NFC");
}

/** The forms in which an agent may copy a sentence. */
const FORMS: readonly (readonly [name: string, written: (sentence: string) => string])[] = [
  ["as it is", (s) => s],
  ["in upper case", (s) => s.toUpperCase()],
  ["over several lines", (s) => parts(s, 3).join("\n")],
  [
    "in bold and italic",
    (s) =>
      parts(s, 2)
        .map((part, at) => (at % 2 ? `**${part}**` : `_${part}_`))
        .join(" "),
  ],
  [
    "with links in it",
    (s) =>
      parts(s, 3)
        .map((part) => `[${part}](https://acme.example/a?b=c)`)
        .join(" "),
  ],
  [
    "with links by reference",
    (s) =>
      parts(s, 3)
        .map((part, at) => `[${part}][${at}]`)
        .join(" "),
  ],
  [
    "between tags",
    (s) =>
      parts(s, 2)
        .map((part) => `<span class="x">${part}</span>`)
        .join("<br>"),
  ],
  [
    "as decimal entities",
    (s) =>
      charactersOf(s)
        .map((c) => (isWord.test(c) ? `&#${c.codePointAt(0)};` : c))
        .join(""),
  ],
  [
    "as hexadecimal entities",
    (s) =>
      charactersOf(s)
        .map((c, at) => (at % 3 ? c : `&#x${c.codePointAt(0)?.toString(16)};`))
        .join(""),
  ],
  ["as named entities", byName],
  [
    "as a numbered list",
    (s) =>
      parts(s, 4)
        .map((part, at) => `${at + 1}. ${part}`)
        .join("\n"),
  ],
  [
    "as a list with letters",
    (s) =>
      parts(s, 4)
        .map((part, at) => `${"abcdefghijklmnopqrstuvwxyz"[at]}) ${part}`)
        .join("\n"),
  ],
  [
    "as nested bullets",
    (s) =>
      parts(s, 3)
        .map((part, at) => `${"  ".repeat(at)}- ${part}`)
        .join("\n"),
  ],
  [
    "as the cells of a table",
    (s) =>
      `|${parts(s, 1).join("|")}|\n|${parts(s, 1)
        .map(() => "---")
        .join("|")}|`,
  ],
  [
    "as a table with numbers",
    (s) =>
      parts(s, 4)
        .map((part, at) => `| ${at + 1} | ${part} |`)
        .join("\n"),
  ],
  [
    "as a quotation",
    (s) =>
      parts(s, 4)
        .map((part) => `> > ${part}`)
        .join("\n"),
  ],
  [
    "in a block of code",
    (s) =>
      `~~~ts\n${parts(s, 5)
        .map((part) => `    // ${part}`)
        .join("\n")}\n~~~`,
  ],
  ["in a comment", (s) => `<!-- ${s} -->`],
  ["around a long comment", (s) => parts(s, 4).join(` <!-- ${"filler ".repeat(100)}--> `)],
  ["in an attribute", (s) => `<Note title="${s.replaceAll('"', "'")}" />`],
  ["in an address", (s) => `[text](https://acme.example/#:~:text=${encodeURIComponent(s)})`],
  ["with soft hyphens", (s) => charactersOf(s).join("\u00ad")],
  [
    "with invisible spaces",
    (s) =>
      charactersOf(s)
        .map((c, at) => (at % 4 ? c : `${c}\u200b\u2060`))
        .join(""),
  ],
  ["decomposed", (s) => s.normalize("NFD")],
  ["in wide letters", (s) => s.replaceAll(/[a-z]/g, (c) => String.fromCharCode(c.charCodeAt(0) + 0xfee0))],
  [
    "with footnotes",
    (s) =>
      parts(s, 3)
        .map((part, at) => `${part}[^${at + 1}]`)
        .join(" "),
  ],
  [
    "with tags inside words",
    (s) =>
      charactersOf(s)
        .map((c, at) => (at % 5 ? c : `<b>${c}</b>`))
        .join(""),
  ],
  ["with shortcodes and anchors", (s) => `${parts(s, 3).join(" {{< ref page >}} ")} {#anchor}`],
  ["as front matter", (s) => `---\ntitle: "${parts(s, 4).join("\\\n  ")}"\n---`],
  [
    "with a role and wrapped",
    (s) =>
      parts(s, 3)
        .map((part) => `:term:\`${part}\``)
        .join("\n   "),
  ],
];

/** Splits a sentence into pieces of four words and writes each in its own way. */
function pieces(s: string, between: string, written: (part: string, at: number) => string): string {
  return parts(s, 4).map(written).join(between);
}

/** Puts a text into the middle of each word. */
function insideWords(s: string, inside: string): string {
  return parts(s, 1)
    .map((part) => part.slice(0, 1) + inside + part.slice(1))
    .join(s.includes(" ") ? " " : "");
}

/** More forms, with all the markup that pages have. */
const MORE_FORMS: typeof FORMS = [
  ["as a checked list of tasks", (s) => pieces(s, "\n", (part) => `- [x] ${part}`)],
  ["as bullets with numbers", (s) => pieces(s, "\n", (part, at) => `- ${at + 1}. ${part}`)],
  ["as numbered headings", (s) => pieces(s, "\n\n", (part, at) => `### 1.${at + 1} ${part}`)],
  ["as numbered steps", (s) => pieces(s, "\n", (part, at) => `Step ${at + 1}: ${part}`)],
  ["with numbers in the line", (s) => pieces(s, "; ", (part, at) => `${at + 1}) ${part}`)],
  ["with references", (s) => pieces(s, " ", (part, at) => `${part} [${at + 1}]`)],
  ["with raised numbers", (s) => pieces(s, " ", (part, at) => `${part}${"¹²³⁴⁵⁶⁷⁸⁹"[at % 9]}`)],
  ["with numbers in sup", (s) => pieces(s, " ", (part, at) => `${part}<sup>${at + 1}</sup>`)],
  ["with numbers in circles", (s) => pieces(s, " ", (part) => `③ ${part}`)],
  ["with emoji", (s) => pieces(s, " ", (part) => `${part} :rocket:`)],
  ["with callouts", (s) => pieces(s, "\n", (part, at) => `${part} <${at + 1}>`)],
  ["as a table with a word more", (s) => pieces(s, "\n", (part) => `| ${part} | yes |`)],
  ["as a table with versions", (s) => pieces(s, "\n", (part, at) => `| ${part} | 1.${at} |`)],
  ["as a table without outer pipes", (s) => pieces(s, "\n", (part, at) => `${at + 1} | ${part}`)],
  ["as a table of HTML", (s) => pieces(s, "\n", (part) => `<tr><td>1</td><td>${part}</td></tr>`)],
  ["in two columns", (s) => pieces(s, "\n", (part) => `${part} │ foo`)],
  [
    "with links with brackets",
    (s) =>
      parts(s, 1)
        .map((part) => `[${part}](https://a.example/b_(c))`)
        .join(" "),
  ],
  [
    "with links with titles",
    (s) =>
      parts(s, 1)
        .map((part) => `[${part}](/b "a title (c)")`)
        .join(" "),
  ],
  [
    "in attributes",
    (s) => pieces(s, "\n", (part) => `<Step icon="check" title="${part.replaceAll('"', "'")}" />`),
  ],
  ["as a diagram", (s) => pieces(s, "\n", (part, at) => `N${at}[${part}] --> N${at + 1}`)],
  ["as a diagram of messages", (s) => pieces(s, "\n", (part) => `Ana->>Ben: ${part}`)],
  ["as a list of YAML", (s) => pieces(s, "\n", (part) => `- step: ${part}`)],
  ["as a string", (s) => JSON.stringify(parts(s, 4).join("\n"))],
  [
    "with escapes",
    (s) =>
      Array.from(
        { length: s.length },
        (_, at) => `\\u${s.charCodeAt(at).toString(16).padStart(4, "0")}`,
      ).join(""),
  ],
  ["as code with numbers of lines", (s) => pieces(s, "\n", (part, at) => `${at + 10}  // ${part}`)],
  ["as remarks", (s) => pieces(s, "\n", (part) => `REM ${part}`)],
  [
    "with entities with zeros",
    (s) => s.replaceAll(/[\p{L}\p{N}]/gu, (c) => `&#${String(c.codePointAt(0)).padStart(12, "0")};`),
  ],
  ["with entities without an end", (s) => s.replaceAll(/[ae](?!\d)/g, (c) => `&#${c.charCodeAt(0)}`)],
  ...["&ZeroWidthSpace;", "&NoBreak;", "&it;", "&lrm;", "&shy;", "\b", "\0"].map(
    (inside) => [`with ${JSON.stringify(inside)}`, (s: string) => insideWords(s, inside)] as const,
  ),
  [
    "with links of halves of words",
    (s) =>
      parts(s, 1)
        .map((part) => `[${part.slice(0, 1)}](https://a.example/b)${part.slice(1)}`)
        .join(s.includes(" ") ? " " : ""),
  ],
  ["with halves of lines", (s) => s.replaceAll(/([a-z]{3})([a-z]{3,})/g, "$1-\n$2")],
  [
    "in letters with circles",
    (s) => s.replaceAll(/[a-z]/g, (c) => String.fromCharCode(c.charCodeAt(0) - 97 + 0x24d0)),
  ],
];

/** The possible sources of a sentence. */
export const ORIGINS = ["message", "attachment", "context"] as const;

/** A private sentence, its source, and the form of its copy. */
export type PrivateSentence = {
  name: string;
  origin: (typeof ORIGINS)[number];
  sentence: string;
  written: string;
};

function privateSentence(
  at: number,
  which: number,
  form: (typeof FORMS)[number] | undefined,
): PrivateSentence {
  const sentence = SENTENCES[which % SENTENCES.length] ?? "";
  const [name, write] = form ?? ["", (s: string) => s];
  const origin = ORIGINS[(at + Math.floor(at / SENTENCES.length)) % ORIGINS.length] ?? "message";
  return { name: `${at + 1}: ${sentence.slice(0, 20)}… ${name}`, origin, sentence, written: write(sentence) };
}

/**
 * Each sentence in three forms. Each form is used for two sentences, and each of `MORE_FORMS` for
 * one.
 */
export const PRIVATE_SENTENCES: readonly PrivateSentence[] = [
  ...Array.from({ length: 60 }, (_, at) =>
    privateSentence(at, at, FORMS[(at + Math.floor(at / SENTENCES.length)) % FORMS.length]),
  ),
  ...MORE_FORMS.map((form, at) => privateSentence(60 + at, at, form)),
];

/** Every sentence in every form. */
export const ALL_PRIVATE_SENTENCES: readonly PrivateSentence[] = [...FORMS, ...MORE_FORMS].flatMap(
  (form, at) => SENTENCES.map((_, which) => privateSentence(at * SENTENCES.length + which, which, form)),
);
