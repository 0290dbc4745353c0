use std::time::Duration;

/// Made in the console, and spent by `larchway init`.
pub const BOOTSTRAP_TOKEN_LIFETIME: Duration = Duration::from_secs(30 * 60);

/// Printed by `larchway init`, and read by the agents from their file.
pub const AGENT_TOKEN_LIFETIME: Duration = Duration::from_secs(90 * 24 * 3600);

pub enum Refusal {
    /// A bootstrap token that `larchway init` has used.
    Spent,
    Expired,
    /// An agent that presents a bootstrap token, or the other way round.
    WrongKind,
}
