module.exports = { docs: ["start", "limits", "errors", "webhooks"] };
