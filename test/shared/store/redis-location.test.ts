import { expect, it } from "vitest";
import { readRedisUrl } from "../../../src/shared/store/redis/redis-location.ts";

const AT = { host: "10.0.0.7", port: 6380 };

it.each([
  [
    "redis://ana:p%25w@redis.internal/2?prefix=two&standbys=1",
    {
      at: { host: "redis.internal", port: 6379 },
      shown: "redis://redis.internal/2?prefix=two&standbys=1",
      prefix: "{two}",
      standbys: 1,
    },
    "redis://ana:p%25w@10.0.0.7:6380/2",
  ],
  [
    "redis+sentinel://:p%25w@a,b:5000,[::1]:5001/docs/1?standbys=2",
    {
      at: {
        name: "docs",
        addresses: [
          { host: "a", port: 26379 },
          { host: "b", port: 5000 },
          { host: "::1", port: 5001 },
        ],
      },
      shown: "redis+sentinel://a,b:5000,[::1]:5001/docs/1?standbys=2",
      prefix: "{docs-agent}",
      standbys: 2,
    },
    "redis://:p%25w@10.0.0.7:6380/1",
  ],
])("reads %s", (url, location, at) => {
  const read = readRedisUrl(url);
  expect(read).toMatchObject(location);
  expect(read?.urlAt(AT)).toBe(at);
  expect(read?.shown).not.toContain("p%25w");
});

it.each([
  "redis://host?standbys=some",
  "redis://host?standbys=10",
  "redis://host?replicas=1",
  "redis+sentinel://a,b",
  "redis+sentinel://a,,b/docs",
  "redis+sentinel://a:port/docs",
  "redis+sentinel://a/docs/1/2",
  "redis+sentinel://:100%secret@a/docs",
])("refuses %s", (url) => {
  expect(readRedisUrl(url)).toBeNull();
});
