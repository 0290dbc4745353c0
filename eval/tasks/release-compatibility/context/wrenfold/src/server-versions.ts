/** Servers outside of this range are refused. */
export const OLDEST_SERVER = "3.7";
export const NEWEST_SERVER = "3.9";
