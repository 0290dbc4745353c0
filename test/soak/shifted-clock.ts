// Loaded before the program. It shifts the machine's clock by CLOCK_OFF_MS milliseconds.
const offMs = Number(process.env["CLOCK_OFF_MS"]);
const now = Date.now;
Date.now = () => now() + offMs;
