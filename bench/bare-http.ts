import { createServer } from "node:http";

/**
 * A server that answers every request with the same JSON. It shows what the machine can do at that
 * moment.
 */
const server = createServer((_, response) => {
  response.setHeader("content-type", "application/json").end('{"id":"job","status":"active"}');
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  process.stdout.write(`${JSON.stringify({ msg: "ready", address: `http://127.0.0.1:${port}` })}\n`);
});
