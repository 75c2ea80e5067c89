//! Finding the comments for which a forge refuses a whole review: it takes all of them or none and does not say which is wrong. Main function: [`bisect_comments`].
//!
//! Trying one part (a review that is created and deleted) is up to the caller, in `carry`.

/// The result of trying some of the comments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BisectTrial<E> {
    /// The forge takes them.
    Good,
    /// It refuses them, for this reason.
    Bad(String),
    /// It could not be tried: nothing more is.
    Broken(E),
}

/// The sorted comments, by their indexes in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BisectResult<E> {
    /// Refused, each with the forge's reason.
    pub(super) bad: Vec<(usize, String)>,
    /// Among these is one that is refused, but not which was found out.
    pub(super) unknown: Vec<usize>,
    /// The reason why it was interrupted.
    pub(super) broken: Option<E>,
}

/// Sorts `count` comments, of which at least one is refused for `reason`, with at most `most` trials.
pub(super) async fn bisect_comments<E>(
    count: usize,
    reason: &str,
    most: usize,
    mut try_some: impl AsyncFnMut(&[usize]) -> BisectTrial<E>,
) -> BisectResult<E> {
    let mut sorted = BisectResult { bad: Vec::new(), unknown: Vec::new(), broken: None };
    let mut tried = 0;
    // Each part is known to be refused as a whole.
    let mut parts: Vec<(Vec<usize>, String)> = vec![((0..count).collect(), reason.to_owned())];
    while let Some((part, reason)) = parts.pop() {
        if part.len() < 2 {
            sorted.bad.extend(part.into_iter().map(|at| (at, reason.clone())));
            continue;
        }
        if sorted.broken.is_some() || tried >= most {
            sorted.unknown.extend(part);
            continue;
        }
        let (left, right) = part.split_at(part.len() / 2);
        tried += 1;
        match try_some(left).await {
            // Then what is refused is on the right.
            BisectTrial::Good => parts.push((right.to_vec(), reason)),
            BisectTrial::Broken(error) => {
                sorted.broken = Some(error);
                sorted.unknown.extend(part);
            }
            BisectTrial::Bad(on_left) => {
                parts.push((left.to_vec(), on_left));
                tried += 1;
                match try_some(right).await {
                    BisectTrial::Good => {}
                    BisectTrial::Bad(on_right) => parts.push((right.to_vec(), on_right)),
                    BisectTrial::Broken(error) => {
                        sorted.broken = Some(error);
                        sorted.unknown.extend(right);
                    }
                }
            }
        }
    }
    sorted.bad.sort();
    sorted.unknown.sort_unstable();
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn block<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
    }

    /// Sorts comments of which some are bad, and counts the trials.
    fn sort(count: usize, bad: &[usize], most: usize) -> (BisectResult<()>, usize) {
        let mut trials = 0;
        let sorted = block(bisect_comments(count, "whole", most, async |part: &[usize]| {
            trials += 1;
            match part.iter().find(|at| bad.contains(at)) {
                Some(at) => BisectTrial::Bad(format!("bad {at}")),
                None => BisectTrial::Good,
            }
        }));
        (sorted, trials)
    }

    #[test]
    fn one_comment_needs_no_trial() {
        let (sorted, trials) = sort(1, &[0], 9);
        assert_eq!((sorted.bad, trials), (vec![(0, "whole".to_owned())], 0));
    }

    #[test]
    fn one_bad_comment_of_fifty_is_found_in_a_dozen_trials() {
        let (sorted, trials) = sort(50, &[37], 40);
        assert_eq!(sorted.bad.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [37]);
        assert!(sorted.unknown.is_empty() && trials <= 12, "{trials}");
    }

    #[test]
    fn what_breaks_off_leaves_the_rest_unknown() {
        let sorted = block(bisect_comments(4, "whole", 9, async |_: &[usize]| BisectTrial::Broken("gone")));
        assert_eq!(sorted, BisectResult { bad: Vec::new(), unknown: vec![0, 1, 2, 3], broken: Some("gone") });
    }

    proptest! {
        #[test]
        fn no_bad_comment_is_called_good(
            count in 1..60usize, bad in proptest::collection::hash_set(0..60usize, 1..12), most in 0..60usize
        ) {
            let bad: Vec<usize> = bad.into_iter().map(|at| at % count).collect();
            let (sorted, trials) = sort(count, &bad, most);
            prop_assert!(trials <= most + 1);
            for at in &bad {
                prop_assert!(sorted.bad.iter().any(|(found, _)| found == at) || sorted.unknown.contains(at));
            }
            for (at, _) in &sorted.bad {
                prop_assert!(bad.contains(at));
            }
            if most >= 2 * bad.len() * 7 {
                prop_assert!(sorted.unknown.is_empty());
            }
        }
    }
}
