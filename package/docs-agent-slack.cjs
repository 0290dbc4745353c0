#!/usr/bin/env node
// The command of the package: starts one of its programs. Old versions of Node.js have to
// understand this file, because it says so if they are too old for the programs.
"use strict";
var childProcess = require("child_process");
var fs = require("fs");
var path = require("path");

var NEEDED = 24;

/** Each program's file, what it is for, and the flags of Node.js that `npm` gives it in a clone. */
var QUIET = ["--disable-warning=ExperimentalWarning"];
var SMALL = ["--min-semi-space-size=4", "--max-semi-space-size=16", "--heap-growing-percent=25"];
var COMMANDS = {
  playground: ["playground/main", "shows all of it on this machine, with no account", QUIET],
  setup: ["src/setup/main", "leads from nothing to a first request in Slack", QUIET],
  doctor: ["src/doctor/main", "tries everything that both programs need, and says what to do", QUIET],
  start: ["src/app/main", "runs the Slack app", SMALL],
  service: ["src/service/main", "runs the job service, and has its commands", []],
  runner: ["src/service/runner/program/main", "runs turns for a job service elsewhere", QUIET],
  state: [
    "src/app/dump/main",
    "dumps, loads or explains what the Slack app has stored, or forgets a person",
    [],
  ],
  upgrade: ["src/upgrade/main", "installs a version from its package, or brings a newer one", QUIET],
};

var HELP =
  "Docs Agent for Slack\n\n" +
  "Usage: docs-agent-slack <command> [options]\n\n" +
  Object.keys(COMMANDS)
    .map(function (name) {
      return "  " + (name + "            ").slice(0, 12) + COMMANDS[name][1] + "\n";
    })
    .join("") +
  "\n  --version   show the version\n  --help      show this; each command has its own --help\n";

/** The Node.js that came with the package (Linux on x64 and arm64), or undefined. */
function shippedNode() {
  try {
    return require.resolve("node-linux-" + process.arch + "/bin/node");
  } catch {
    return undefined;
  }
}

function main(name, args) {
  if (name === undefined || name === "--help" || name === "-h") return void process.stdout.write(HELP);
  if (name === "--version" || name === "-V") {
    var about = path.join(__dirname, "package.json");
    return void process.stdout.write(JSON.parse(fs.readFileSync(about, "utf8")).version + "\n");
  }
  if (!Object.prototype.hasOwnProperty.call(COMMANDS, name)) {
    process.exitCode = 2;
    return void process.stderr.write("There is no command " + name + ". See docs-agent-slack --help.\n");
  }
  var isOld = parseInt(process.versions.node, 10) < NEEDED;
  var node = isOld ? shippedNode() : process.execPath;
  if (node === undefined) {
    process.exitCode = 1;
    var fault = "Docs Agent needs Node.js " + NEEDED + " or later. This is " + process.versions.node + ".";
    return void process.stderr.write(
      fault + "\nInstall a newer one from https://nodejs.org, and try again.\n",
    );
  }
  run(node, COMMANDS[name][2].concat(path.join(__dirname, COMMANDS[name][0] + ".js"), args));
}

/** Becomes the program, so that signals and exit codes are its own. */
function run(node, args) {
  if (process.execve !== undefined && process.platform !== "win32") {
    process.removeAllListeners("warning"); // It is new in Node.js 24, which would say so each time.
    process.execve(node, [node].concat(args));
  }
  var child = childProcess.spawn(node, args, { stdio: "inherit" });
  // Ctrl-C reaches the program by itself.
  process.on("SIGINT", function () {});
  process.on("SIGTERM", function () {
    child.kill("SIGTERM");
  });
  child.on("exit", function (code, signal) {
    if (signal !== null) process.removeAllListeners(signal);
    if (signal === null) process.exit(code);
    process.kill(process.pid, signal);
  });
}

main(process.argv[2], process.argv.slice(3));
