export { connect } from "./connect.js";
export { at } from "./point.js";
export { readBatch } from "./batch.js";
export { SablelineError } from "./errors.js";
