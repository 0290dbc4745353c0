import fc from "fast-check";

/** Texts without half characters, with many characters that are escaped or take two units. */
export const wellFormed = fc.oneof(
  fc.string({ unit: "binary", maxLength: 60 }),
  fc.string({ unit: "grapheme", maxLength: 30 }),
  fc.string({ unit: fc.constantFrom("&", "<", ">", "&amp;", "&lt;", "…", "😀", "a"), maxLength: 60 }),
);
/** Any text, including half characters. */
export const text = fc.oneof(
  wellFormed,
  fc.string({
    unit: fc.oneof(
      fc.integer({ min: 0xd800, max: 0xdfff }).map((unit) => String.fromCharCode(unit)),
      fc.constantFrom("a", "&", "<"),
    ),
    maxLength: 60,
  }),
);
