// Loaded before the program: its machine's clock is off by CLOCK_OFF_MS, milliseconds.
const offMs = Number(process.env["CLOCK_OFF_MS"]);
const now = Date.now;
Date.now = () => now() + offMs;
