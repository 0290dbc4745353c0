import { expect, it } from "vitest";
import type { SharedFile } from "../../src/app/rules/turn/request.ts";
import { lookUpFiles } from "../../src/app/gather/gather-files.ts";

it("a request with many files that Slack hasn't described looks a bounded number of them up", async () => {
  const files = Array.from({ length: 500 }, (_, n): SharedFile => ({
    id: `F${n}`,
    name: "a file",
    mediaType: "",
    size: 0,
    url: null,
    isPartial: true,
  }));
  const asked: string[] = [];
  const fileReader = {
    async lookUp(file: SharedFile) {
      asked.push(file.id);
      return { file, isFinal: true };
    },
  };
  const directory = { admission: () => Promise.resolve("admitted" as const) };
  const looked = await lookUpFiles({ fileReader, directory }, { quoted: null, files });
  expect(asked).toHaveLength(20);
  expect([...looked.keys()]).toEqual(asked);
});
