import { describe, expect, it } from "vitest";
import { parseMessageText } from "../../../src/app/slack/message/message-text.ts";
import { mentionsApp, withoutMention } from "../../../src/app/slack/message/without-mention.ts";
import { readableText } from "../../../src/app/rules/words/readable-text.ts";

/** A message in which `@bot` is the app, and `@ben` somebody else. */
function segments(text: string) {
  return parseMessageText(text.replaceAll("@bot", "<@U0BOT>").replaceAll("@ben", "<@U0BEN|ben>"));
}

describe("a message without the mention of the app", () => {
  it.each([
    ["@bot fix the FAQ", "fix the FAQ"],
    ["@bot: fix the FAQ", "fix the FAQ"],
    ["@bot:fix the FAQ", "fix the FAQ"],
    ["@bot, fix the FAQ", "fix the FAQ"],
    ["@bot - fix the FAQ", "fix the FAQ"],
    ["@bot — fix the FAQ", "fix the FAQ"],
    ["@bot! fix the FAQ", "fix the FAQ"],
    ["@bot\nfix the FAQ", "fix the FAQ"],
    ["@bot\u00a0fix the FAQ", "fix the FAQ"],
    ["  @bot :  fix the FAQ", "fix the FAQ"],
    ["*@bot* fix the FAQ", "fix the FAQ"],
    ["*_@bot_*: fix the FAQ", "fix the FAQ"],
    ["(@bot) fix the FAQ", "fix the FAQ"],
    ["“@bot” fix the FAQ", "fix the FAQ"],
    ["*@bot: fix the FAQ*", "*fix the FAQ*"],
    ["*@bot fix the FAQ*", "*fix the FAQ*"],
    ["• @bot: fix the FAQ", "• fix the FAQ"],
    ["@bot @bot: fix the FAQ", "fix the FAQ"],
    ["@bot --help", "--help"],
    ["@bot -5 is wrong", "-5 is wrong"],
    ["@bot .env isn't described", ".env isn't described"],
    ["@bot ?", "?"],
    ["@bot :+1:", ":+1:"],
    ["@bot: :+1:", ":+1:"],
    ["@bot:", ""],
    ["@bot", ""],
    ["@bot...", ""],
    ["hey @bot, fix the menu", "hey, fix the menu"],
    ["hey @bot fix the menu", "hey fix the menu"],
    ["hey, @bot, fix the menu", "hey, fix the menu"],
    ["hey @bot! Fix the menu", "hey! Fix the menu"],
    ["hey @bot\nfix the menu", "hey\nfix the menu"],
    ["hey\n@bot fix the menu", "hey\nfix the menu"],
    ["hey *@bot* fix the menu", "hey fix the menu"],
    ["fix the menu @bot", "fix the menu"],
    ["fix the menu, @bot", "fix the menu"],
    ["fix the menu, @bot!", "fix the menu!"],
    ["fix the menu - @bot", "fix the menu"],
    ["fix the menu (@bot)", "fix the menu"],
    ["can @bot and @bot fix it?", "can and fix it?"],
    ["@ben @bot fix the FAQ", "@ben fix the FAQ"],
    ["@bot @ben is right", "@ben is right"],
    ["cc @ben, @bot", "cc @ben"],
    ["update the page, @bot :pray:", "update the page, :pray:"],
    ["document @bot .gitignore", "document .gitignore"],
    ["@ben is right", "@ben is right"],
  ])("%j: %j", (text, rest) => {
    expect(readableText(withoutMention(segments(text), "U0BOT"))).toBe(rest);
  });

  it("has no mention left if there are very many, and is read at once", () => {
    const rest = withoutMention(segments("@bot fix it ".repeat(20_000)), "U0BOT");
    expect(mentionsApp(rest, "U0BOT")).toBe(false);
    expect(rest.length).toBeLessThanOrEqual(40_000);
  });

  it("is the message itself as long as the app isn't known", () => {
    expect(withoutMention(segments("@bot: list"), undefined)).toEqual(segments("@bot: list"));
    expect(mentionsApp(segments("@bot: list"), undefined)).toBe(false);
    expect(mentionsApp(segments("see: @bot"), "U0BOT")).toBe(true);
  });
});
