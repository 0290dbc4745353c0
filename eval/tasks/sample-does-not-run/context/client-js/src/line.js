import { request } from "./request.js";

/** An open project. */
export class Line {
  constructor(project, key) {
    this.project = project;
    this.key = key;
  }

  hello() {
    return request(this, "GET", "/hello");
  }

  write(series, points) {
    return request(this, "POST", `/series/${series}/points`, points);
  }

  /** The newest point of a series that has all of these tags. */
  latest(series, tags = {}) {
    return request(this, "GET", `/series/${series}/latest?${new URLSearchParams(tags)}`);
  }

  close() {
    return request(this, "POST", "/bye");
  }
}
