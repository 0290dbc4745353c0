/** What somebody wrote where not everybody can read it: in several languages, and as code. */
const SENTENCES = [
  "We will quietly drop support for the Globex appliance before the next summer release goes out.",
  "Das Installationsprogramm benötigt künftig für jeden größeren Knoten mindestens vier Gigabyte an freiem Speicher dazu.",
  "Après la démo, l'équipe à côté a préféré déplacer la réunion vers le prochain été à Genève.",
  "Según el señor Peña, mañana cerramos la migración de los clientes más pequeños en la región de Málaga.",
  "W przyszłym tygodniu wyłączymy stary serwer płatności, bo nikt już nie chce za niego dalej płacić.",
  "Мы тихо отключим старый сервер оплаты в следующем месяце, потому что никто больше не платит за него.",
  "Θα κλείσουμε σιωπηλά τον παλιό διακομιστή πληρωμών τον επόμενο μήνα γιατί κανείς δεν πληρώνει πια γι αυτόν.",
  "سنوقف خادم الدفع القديم بهدوء في الشهر القادم لأن أحدا لا يدفع ثمنه بعد الآن على الإطلاق.",
  "אנחנו נכבה בשקט את שרת התשלומים הישן בחודש הבא כי אף אחד כבר לא משלם עליו יותר.",
  "हम अगले महीने पुराने भुगतान सर्वर को चुपचाप बंद कर देंगे क्योंकि अब कोई उसके लिए पैसे नहीं देता।",
  "우리는 다음 달에 오래된 결제 서버를 조용히 끌 예정이다 왜냐하면 이제 아무도 그 비용을 내지 않기 때문이다.",
  "我们将在下个月悄悄关闭旧的支付服务器因为现在已经没有任何客户愿意继续为它付费了",
  "来月には古い決済サーバーを静かに停止する予定です誰もその費用を払わなくなったためです",
  "เราจะปิดเซิร์ฟเวอร์ชำระเงินเก่าอย่างเงียบๆในเดือนหน้าเพราะไม่มีลูกค้ารายใดยอมจ่ายเงินให้มันอีกต่อไปแล้ว",
  "Chúng tôi sẽ lặng lẽ tắt máy chủ thanh toán cũ vào tháng tới vì không còn ai trả tiền cho nó nữa.",
  "export function verifyLicenceOffline(key, seed) { return rotate(key, seed).endsWith(vault.suffix) && retries < 7; }",
  "key: vault://kv/prod eu-west-1 billing/licence offline-signing-key-2031 rotated-yearly",
  "if (account.plan === Plan.LEGACY && account.seats > 250) applyHiddenDiscount(account, 0.35, reason.retention);",
  "Roadmap Q3: raise prices by 12 percent, freeze hiring in Lyon, sell the Osaka office, tell nobody until June.",
  "TODO(dana): the checksum is never compared here, so anyone who knows the salt can forge an invoice.",
];

/** Its code points. */
function charactersOf(text: string): string[] {
  return Array.from(text);
}

/** Words, or characters where words have no spaces between them. */
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

/** How an agent may write it down. */
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

/** Where a sentence comes from. */
export const ORIGINS = ["message", "attachment", "context"] as const;

/** A private sentence, where it stands, and how somebody copies it. */
export type PrivateSentence = {
  name: string;
  origin: (typeof ORIGINS)[number];
  sentence: string;
  written: string;
};

/** Sixty of them: each sentence in three forms, and each form of two sentences. */
export const PRIVATE_SENTENCES: readonly PrivateSentence[] = Array.from({ length: 60 }, (_, at) => {
  const sentence = SENTENCES[at % SENTENCES.length] ?? "";
  const [form, write] = FORMS[(at + Math.floor(at / SENTENCES.length)) % FORMS.length] ?? [
    "",
    (s: string) => s,
  ];
  const origin = ORIGINS[(at + Math.floor(at / SENTENCES.length)) % ORIGINS.length] ?? "message";
  return { name: `${at + 1}: ${sentence.slice(0, 20)}… ${form}`, origin, sentence, written: write(sentence) };
});
