import { z } from "zod";

/** The file `fennhold.toml` in an app's folder. `fennhold link` writes it. */
export const Config = z.strictObject({
  /** The app's name. */
  app: z.string(),
  build: z.strictObject({
    /** Runs in a copy of the folder. Without it, nothing is built. */
    command: z.string().optional(),
  }),
  run: z.strictObject({
    /** Starts the app. */
    command: z.string(),
    /** The port on which the app listens. It is in `PORT`, too. */
    port: z.int().default(8080),
  }),
});

/** What isn't uploaded, besides what `.gitignore` names. */
export const IGNORED = [".git", "node_modules", ".env"];
