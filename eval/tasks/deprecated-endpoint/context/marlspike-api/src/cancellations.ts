import { z } from "zod";
import { routes, sendMail } from "./app.ts";
import { reservations } from "./reservations.ts";

const NewCancellation = z.strictObject({
  /** The id of what is cancelled. */
  reservation: z.string(),
  /** Sent to the restaurant. */
  reason: z.string().max(500).optional(),
  /** Whether the guest gets a mail. */
  notify: z.boolean().default(true),
});

routes.post("/v1/cancellations", NewCancellation, async ({ reservation, reason, notify }, reply) => {
  const cancelled = await reservations.cancel(reservation, reason);
  if (notify) await sendMail(cancelled);
  return reply.status(201).send({ id: cancelled.cancellationId, reservation, reason: reason ?? null });
});
