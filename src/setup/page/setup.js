// Shows what changes while a step is tried, without losing what somebody types or chooses.
const EVERY_MS = 700;

/** The page as it is now. */
async function fetchedMain() {
  const answer = await fetch(location.href);
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}

/** True if somebody has typed or chosen something that isn't sent yet. */
function isBeingFilled(main) {
  const typed = [...main.querySelectorAll("input")].some((input) => input.value !== input.defaultValue);
  return typed || [...main.querySelectorAll("select")].some((select) => select.value !== offered(select));
}

/** What a select shows before anybody chooses. */
function offered(select) {
  const option = [...select.options].find((each) => each.defaultSelected) ?? select.options[0];
  return option?.value ?? "";
}

async function look() {
  const main = document.querySelector("main");
  if (main === null) return;
  const answer = await fetch("changes");
  if (!answer.ok || (await answer.text()) === main.dataset.version) return;
  const page = await fetchedMain();
  const next = page.querySelector("main");
  if (next === null) return;
  if (isBeingFilled(main) && !("busy" in main.dataset)) {
    for (const part of ["div.app"]) main.querySelector(part)?.replaceWith(next.querySelector(part) ?? "");
    return;
  }
  const wasBusy = "busy" in main.dataset;
  document.querySelector("nav")?.replaceWith(page.querySelector("nav") ?? "");
  main.replaceWith(next);
  if (wasBusy && !("busy" in next.dataset)) next.querySelector("h2")?.focus();
}

async function watch() {
  // Nobody answers once the command has ended.
  await look().catch(() => {});
  setTimeout(watch, EVERY_MS);
}

setTimeout(watch, EVERY_MS);
