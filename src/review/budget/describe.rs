//! Description of a limit, for people and for the model. Main function: [`describe_limit`].

use super::BudgetLimits;
use super::verification::VerificationReserve;
use crate::domain::money::Money;
use crate::domain::review::StopReason;

/// Describes the limit, for people and for the model, including the reserve for verification.
pub(in crate::review) fn describe_limit(
    ended: StopReason,
    limits: &BudgetLimits,
    reserve: &VerificationReserve,
) -> String {
    let but = |left: u64| if left == 0 { String::new() } else { format!(" but {left} for the second look") };
    match ended {
        StopReason::TurnLimit => {
            let turns = if limits.turns == 1 { "1 turn".to_owned() } else { format!("{} turns", limits.turns) };
            format!("the limit of {turns}{} was reached (raise it with --max-turns)", but(u64::from(reserve.turns)))
        }
        StopReason::TokenLimit => {
            let (tokens, but) = (limits.input_tokens, but(reserve.tokens));
            format!("the limit of {tokens} input tokens{but} was reached (raise it with --max-tokens)")
        }
        StopReason::CostLimit => {
            let most = limits.cost.map_or(Money::NOTHING, |limit| limit.most).format_full();
            let but = if reserve.cost == Money::NOTHING {
                String::new()
            } else {
                format!(", but {} for the second look,", reserve.cost)
            };
            format!("what is left of the limit of {most}{but} does not pay for another turn (raise it with --max-cost)")
        }
        StopReason::WindowLimit => {
            format!("the conversation no longer fits the model's window of {} tokens", limits.window)
        }
        _ => "the time limit was reached (raise it with --timeout)".to_owned(),
    }
}
