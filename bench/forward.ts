/** `node forward.ts <port> <address>` leads a port of this machine to the same one of another. */
import { connect, createServer } from "node:net";
import process from "node:process";

const [port = "", address = ""] = process.argv.slice(2);
const server = createServer((socket) => {
  const target = connect(Number(port), address);
  socket.on("error", () => target.destroy()).pipe(target);
  target.on("error", () => socket.destroy()).pipe(socket);
});
server.listen(Number(port), "127.0.0.1", () => process.stdout.write("ready\n"));
