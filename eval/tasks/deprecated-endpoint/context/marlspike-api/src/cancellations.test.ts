import { expect, it } from "vitest";
import { post } from "./test-client.ts";

it("cancels", async () => {
  const answer = await post("/v1/cancellations", { reservation: "rsv_1", reason: "We are ill" });
  expect(answer.status).toBe(201);
  expect(answer.body).toEqual({ id: "cnl_1", reservation: "rsv_1", reason: "We are ill" });
});
