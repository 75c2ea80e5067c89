//! The best way to pair two small sets, one to one. Main function: [`assign_best`].
//!
//! The Hungarian method with potentials, as H. W. Kuhn (1955) and J. Munkres (1957) describe it: exact, and cubic in the smaller set.

/// Pairs rows with columns so that the sum of the weights is the largest there is; `None` for a row that is left alone.
///
/// A pair of weight 0 or less is never made. Rows of different lengths are filled up with 0. Equal sums are settled by order.
pub fn assign_best(weights: &[Vec<i64>]) -> Vec<Option<usize>> {
    let rows = weights.len();
    let columns = weights.iter().map(Vec::len).max().unwrap_or(0).max(rows);
    // The method wants the least cost and at least as many columns as rows; a column that is not there costs nothing.
    let cost = |row: usize, column: usize| -weights[row].get(column).copied().unwrap_or(0).max(0);
    // All arrays begin with a place for "none", at 0.
    let (mut of_row, mut of_column) = (vec![0i64; rows + 1], vec![0i64; columns + 1]);
    let mut row_of = vec![0usize; columns + 1];
    for row in 1..=rows {
        row_of[0] = row;
        let mut at = 0;
        let (mut least, mut before) = (vec![i64::MAX; columns + 1], vec![0usize; columns + 1]);
        let mut used = vec![false; columns + 1];
        while row_of[at] != 0 {
            used[at] = true;
            let from = row_of[at];
            let (mut step, mut next) = (i64::MAX, 0);
            for column in 1..=columns {
                if used[column] {
                    continue;
                }
                let reduced = cost(from - 1, column - 1) - of_row[from] - of_column[column];
                if reduced < least[column] {
                    (least[column], before[column]) = (reduced, at);
                }
                if least[column] < step {
                    (step, next) = (least[column], column);
                }
            }
            for column in 0..=columns {
                if used[column] {
                    of_row[row_of[column]] += step;
                    of_column[column] -= step;
                } else if column > 0 {
                    least[column] -= step;
                }
            }
            at = next;
        }
        while at != 0 {
            row_of[at] = row_of[before[at]];
            at = before[at];
        }
    }
    let mut pairs = vec![None; rows];
    for column in 1..=columns {
        if row_of[column] > 0 && cost(row_of[column] - 1, column - 1) < 0 {
            pairs[row_of[column] - 1] = Some(column - 1);
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sum(weights: &[Vec<i64>], pairs: &[Option<usize>]) -> i64 {
        pairs.iter().enumerate().filter_map(|(row, column)| column.map(|column| weights[row][column])).sum()
    }

    /// The largest sum, by trying everything.
    fn tried(weights: &[Vec<i64>], taken: &mut Vec<bool>) -> i64 {
        let Some((first, rest)) = weights.split_first() else { return 0 };
        let mut most = tried(rest, taken);
        for column in 0..first.len() {
            if !taken[column] && first[column] > 0 {
                taken[column] = true;
                most = most.max(first[column] + tried(rest, taken));
                taken[column] = false;
            }
        }
        most
    }

    #[test]
    fn the_first_that_fits_is_not_taken_where_another_needs_it() {
        assert_eq!(assign_best(&[vec![5, 4], vec![5, 0]]), [Some(1), Some(0)]);
        assert_eq!(assign_best(&[vec![1], vec![9], vec![3]]), [None, Some(0), None]);
        assert_eq!(assign_best(&[vec![0, 0], vec![0, 7]]), [None, Some(1)]);
        assert_eq!(assign_best(&[]), Vec::<Option<usize>>::new());
        assert_eq!(assign_best(&[vec![], vec![]]), [None, None]);
    }

    proptest! {
        #[test]
        fn no_other_pairs_are_worth_more(
            (columns, weights) in (0usize..6).prop_flat_map(|columns| {
                let row = proptest::collection::vec(-2i64..9, columns);
                (Just(columns), proptest::collection::vec(row, 0..6))
            })
        ) {
            let pairs = assign_best(&weights);
            let mut seen = vec![false; columns];
            for (row, column) in pairs.iter().enumerate() {
                let Some(column) = *column else { continue };
                prop_assert!(!seen[column] && weights[row][column] > 0);
                seen[column] = true;
            }
            prop_assert_eq!(sum(&weights, &pairs), tried(&weights, &mut vec![false; columns]));
        }
    }
}
