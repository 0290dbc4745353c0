import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseCommandText } from "../../src/intake/command-text.ts";

describe("help", () => {
  it.each(["help", "Help", "HELP", "  help\n"])("is what %j asks for", (text) => {
    expect(parseCommandText(text)).toEqual({ kind: "help" });
  });

  it.each([
    "help users find the API key",
    "helpful links are dead on the start page",
    "the help page is wrong",
    "help!",
    "help help",
  ])("is not what %j asks for: it is a prompt", (text) => {
    expect(parseCommandText(text)).toEqual({ kind: "prompt", project: null, prompt: text });
  });
});

describe("list and status", () => {
  it.each([
    ["list", { kind: "list", of: "person" }],
    [" LIST  channel\n", { kind: "list", of: "channel" }],
    ["list Open", { kind: "list", of: "person", isOpen: true }],
    ["Status", { kind: "list", of: "standing" }],
  ])("are what %j asks for", (text, expected) => {
    expect(parseCommandText(text)).toEqual(expected);
  });

  it.each([
    "list the options on the page",
    "list channels",
    "status codes",
    "channel list",
    "list!",
    "constructor",
  ])("are not what %j asks for: it is a prompt", (text) => {
    expect(parseCommandText(text)).toEqual({ kind: "prompt", project: null, prompt: text });
  });
});

describe("nothing typed", () => {
  it.each(["", " ", "\n\t ", "\u00a0\u3000"])("%j is empty", (text) => {
    expect(parseCommandText(text)).toEqual({ kind: "empty", project: null });
  });
});

describe("project=", () => {
  it.each([
    ["project=api fix the install page", "api", "fix the install page"],
    ["PROJECT=Api fix it", "Api", "fix it"],
    ["  project=api \n\t fix it  ", "api", "fix it"],
    ["project=api\nfix it\nand that", "api", "fix it\nand that"],
    ["project= fix it", "", "fix it"],
    ["project=api project=docs is wrong", "api", "project=docs is wrong"],
    ["project=a=b fix it", "a=b", "fix it"],
    ["project=api help", "api", "help"],
  ])("at the start of %j names the project", (text, project, prompt) => {
    expect(parseCommandText(text)).toEqual({ kind: "prompt", project, prompt });
  });

  it.each([
    ["project=api", "api"],
    [" project=api ", "api"],
    ["project=", ""],
  ])("alone (%j) is empty, with that project", (text, project) => {
    expect(parseCommandText(text)).toEqual({ kind: "empty", project });
  });

  it.each([
    "say that project=api is the default",
    "project = api fix it",
    "project api fix it",
    "projects=api fix it",
    "“project=api” is wrong",
    "--project=api is not documented",
  ])("anywhere else (%j) is part of the prompt", (text) => {
    expect(parseCommandText(text)).toEqual({ kind: "prompt", project: null, prompt: text });
  });
});

it("leaves any other prompt as it was typed, without the white space around it", () => {
  const whiteSpace = fc.string({ unit: fc.constantFrom(" ", "\n", "\t", "\u00a0"), maxLength: 4 });
  const words = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.string({
      unit: fc.constantFrom(
        "project",
        "=",
        "help",
        "list",
        "channel",
        " ",
        "\n",
        "\t",
        "docs",
        "&lt;",
        "<",
        "```",
      ),
    }),
  );
  fc.assert(
    fc.property(whiteSpace, words, whiteSpace, (before, typed, after) => {
      const prompt = typed.trim();
      fc.pre(
        /[\p{L}\p{N}\p{P}]/u.test(prompt) &&
          !/^project=/i.test(prompt) &&
          !/^(?:help|status|list(?:\s+channel)?)$/i.test(prompt),
      );
      expect(parseCommandText(`${before}${typed}${after}`)).toEqual({
        kind: "prompt",
        project: null,
        prompt,
      });
    }),
  );
});
