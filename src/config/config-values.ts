import { z } from "zod";

/** Text without spaces or control characters, as in a token. */
export const NO_SPACE = /^[\x21-\x7e]+$/;

/** An http or https URL. */
export const HttpUrl = z.url({ protocol: /^https?$/ });

/** A proxy's URL. Like in other programs, a bare `host:port` means an http proxy. */
export const ProxyUrl = z
  .string()
  .transform((address) => (address.includes("://") ? address : `http://${address}`))
  .pipe(HttpUrl)
  .refine((address) => !URL.canParse(address) || isDecodable(new URL(address)));

/** `true` or `false`. */
export const YesOrNo = z.enum(["true", "false"]).transform((value) => value === "true");

/** Origins, separated by commas. */
export const HttpOrigins = z
  .string()
  .transform((list) => list.split(",").map((origin) => origin.trim()))
  .refine((origins) => origins.every((origin) => URL.canParse(origin) && new URL(origin).origin === origin));

/** True if user name and password are percent-encoded correctly. */
function isDecodable({ username, password }: URL): boolean {
  try {
    decodeURIComponent(username + password);
    return true;
  } catch {
    return false;
  }
}
