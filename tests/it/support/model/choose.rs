//! Which step answers a request.

use super::asked::{Asked, CallResult};
use super::script::{Expected, Step, When};

/// Chooses among the steps, given how often each was used: the step's number, or why there is none.
///
/// Steps of equal conditions are used in their order. Where steps of different conditions fit, the script is at fault.
pub fn choose(steps: &[Step], used: &[usize], asked: &Asked) -> Result<usize, String> {
    let left = |n: usize| steps[n].reuse || used[n] < steps[n].times;
    let fitting: Vec<usize> =
        (0..steps.len()).filter(|n| left(*n) && steps[*n].when.misses(asked).is_empty()).collect();
    let once: Vec<usize> = fitting.iter().copied().filter(|n| !steps[*n].reuse).collect();
    // A step that may be used again and again stands back behind one that is meant for this request.
    let fitting = if once.is_empty() { fitting } else { once };
    let Some(first) = fitting.first() else { return Err(nearest(steps, used, asked)) };
    match fitting.iter().find(|n| steps[**n].when != steps[*first].when) {
        Some(other) => Err(format!("both step {} and step {} fit", first + 1, other + 1)),
        None => Ok(*first),
    }
}

fn nearest(steps: &[Step], used: &[usize], asked: &Asked) -> String {
    let misses = steps.iter().enumerate().map(|(n, step)| {
        let mut misses = step.when.misses(asked);
        if !step.reuse && used[n] >= step.times {
            misses.push("it is used up".to_owned());
        }
        (misses, n)
    });
    match misses.min_by_key(|(misses, _)| misses.len()) {
        Some((misses, n)) => format!("no step fits; the nearest is step {}: {}", n + 1, misses.join("; ")),
        None => "there are no steps".to_owned(),
    }
}

impl When {
    /// The conditions that do not hold.
    pub fn misses(&self, asked: &Asked) -> Vec<String> {
        let mut misses = Vec::new();
        if let Some(turn) = self.turn
            && turn != asked.spoken()
        {
            misses.push(format!("turn is {}, not {turn}", asked.spoken()));
        }
        if let Some(expected) = &self.last_results {
            misses.extend(results(expected, &asked.last_results()));
        }
        let (user, last) = (asked.user_text(), asked.last_user_text());
        misses.extend(lacking("the user's words", &user, &self.user_contains));
        misses.extend(holding("the user's words", &user, &self.user_lacks));
        misses.extend(lacking("the user's last words", &last, &self.last_user_contains));
        misses.extend(lacking("the system message", &asked.system, &self.system_contains));
        if let Some(nudged) = self.nudged
            && nudged == last.is_empty()
        {
            misses.push(format!("the user's last words are {last:?}"));
        }
        if let Some(wanted) = self.taken_out
            && wanted != (asked.taken_out() > 0)
        {
            misses.push(format!("{} results were taken out", asked.taken_out()));
        }
        let offered = |name: &&String| asked.tools.contains(name);
        let absent = self.tools_include.iter().filter(|name| !offered(name));
        misses.extend(absent.map(|name| format!("{name} is not offered")));
        let present = self.tools_exclude.iter().filter(offered);
        misses.extend(present.map(|name| format!("{name} is offered")));
        if let Some(wanted) = self.stream_usage
            && asked.stream_usage != Some(wanted)
        {
            misses.push(format!("stream_usage is {:?}", asked.stream_usage));
        }
        misses
    }
}

fn lacking(what: &str, text: &str, needed: &[String]) -> Vec<String> {
    needed.iter().filter(|part| !text.contains(*part)).map(|part| format!("{what} lack {part:?}")).collect()
}

fn holding(what: &str, text: &str, unwanted: &[String]) -> Vec<String> {
    unwanted.iter().filter(|part| text.contains(*part)).map(|part| format!("{what} hold {part:?}")).collect()
}

fn results(expected: &[Expected], given: &[(String, &CallResult)]) -> Vec<String> {
    let names: Vec<_> = given.iter().map(|(name, _)| name.as_str()).collect();
    let wanted: Vec<_> = expected.iter().map(Expected::name).collect();
    if names != wanted {
        return vec![format!("the last results are of {names:?}, not of {wanted:?}")];
    }
    expected.iter().zip(given).flat_map(|(expected, (_, result))| expected.misses(result)).collect()
}

impl Expected {
    fn name(&self) -> &str {
        match self {
            Self::Name(name) | Self::Like { name, .. } => name,
        }
    }

    fn misses(&self, result: &CallResult) -> Vec<String> {
        let Self::Like { name, contains, lacks, is_error } = self else { return Vec::new() };
        let what = format!("the result of {name}, {:.600},", result.text);
        let mut misses = lacking(&what, &result.text, contains);
        misses.extend(holding(&what, &result.text, lacks));
        if let Some(wanted) = is_error
            && *wanted != result.is_error.unwrap_or_else(|| says_error(&result.text))
        {
            misses.push(format!("{what} is {} error", if *wanted { "no" } else { "an" }));
        }
        misses
    }
}

/// Whether a result tells of an error by itself, for wires that have no flag.
fn says_error(text: &str) -> bool {
    serde_json::from_str::<serde_json::Value>(text).is_ok_and(|value| value.get("error").is_some())
}
