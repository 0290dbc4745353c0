import { z } from "zod";

/**
 * An account at the code host, from either API. A deleted one is a ghost. A bot's login has no
 * `[bot]`, because GraphQL writes it so.
 */
export const Account = z
  .object({ login: z.string(), __typename: z.string().optional(), type: z.string().optional() })
  .nullish()
  .transform((account) => ({
    login: account?.login.replace(/\[bot\]$/, "") ?? "ghost",
    isBot: [account?.__typename, account?.type].includes("Bot") || account?.login.endsWith("[bot]") === true,
  }));
