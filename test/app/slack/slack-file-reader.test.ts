import { once } from "node:events";
import { createServer } from "node:http";
import type { RequestListener } from "node:http";
import { WebClient } from "@slack/web-api";
import { expect, it } from "vitest";
import { createSlackFileReader } from "../../../src/app/slack/slack-file-reader.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";

async function serve(answer: RequestListener) {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = address !== null && typeof address === "object" ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}/`,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

it.each([301, 302, 303, 307, 308])(
  "a redirect (%i) is not followed, so nobody else gets the token",
  async (status) => {
    const seen: unknown[] = [];
    await using elsewhere = await serve((request, response) => {
      seen.push(request.headers);
      response.end("a file");
    });
    const asked: (string | undefined)[] = [];
    await using slack = await serve((request, response) => {
      asked.push(request.headers.authorization);
      response.writeHead(status, { location: elsewhere.url }).end("moved");
    });
    const logger = new RecordingLogger();
    const identity = { botId: "B1", botUserId: "U1", botName: "docs-agent", scopes: null };
    const reader = createSlackFileReader({
      team: { client: new WebClient("xoxb-secret", { slackApiUrl: `${slack.url}api/` }), identity } as never,
      logger,
    });
    const file = {
      id: "F1",
      name: "a.md",
      mediaType: "text/plain",
      size: 6,
      url: `${slack.url}files-pri/F1`,
    };
    expect(await reader.read(file)).toBe("later");
    expect(asked).toEqual(["Bearer xoxb-secret"]);
    expect(seen).toEqual([]);
    expect(JSON.stringify(logger.lines)).not.toContain("xoxb-secret");
  },
);
