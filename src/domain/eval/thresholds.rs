//! The thresholds that an evaluation must reach. Main type: [`EvalThresholds`].

use std::str::FromStr;

use super::figures::{EvalRatio, Figures};
use crate::domain::words::words;

words! {
    /// A measure that can have a threshold.
    pub enum Measure: as_str {
        /// Issues found.
        Recall = "recall",
        /// Findings that are right.
        Precision = "precision",
        /// Clean changes that were left in peace.
        Clean = "clean",
        /// Issues named in their very lines.
        Location = "location",
        /// Findings shown at the lines quoted for them.
        Quoted = "quoted",
    }
}

impl Measure {
    /// Returns its value.
    pub fn measure(self, figures: &Figures) -> EvalRatio {
        match self {
            Self::Recall => figures.recall,
            Self::Precision => figures.precision,
            Self::Clean => figures.clean,
            Self::Location => figures.location,
            Self::Quoted => figures.at_quote,
        }
    }
}

/// The least that one measure may come to, between 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasureThreshold {
    /// The measure.
    pub measure: Measure,
    /// The least.
    pub least: f64,
}

/// The floors that somebody asked for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EvalThresholds(Vec<MeasureThreshold>);

/// Text that is no list of floors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no floor: write recall, precision, clean, location or quoted with a number from 0 to 1, like recall=0.8,clean=1, each once"
)]
pub struct InvalidThresholds(pub String);

impl FromStr for EvalThresholds {
    type Err = InvalidThresholds;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut floors: Vec<MeasureThreshold> = Vec::new();
        for part in text.split(',').map(str::trim) {
            let fault = || InvalidThresholds(part.to_owned());
            let (word, number) = part.split_once('=').ok_or_else(fault)?;
            let measure =
                Measure::ALL.iter().copied().find(|measure| measure.as_str() == word.trim()).ok_or_else(fault)?;
            let least: f64 = number.trim().parse().map_err(|_| fault())?;
            if !(0.0..=1.0).contains(&least) || floors.iter().any(|floor| floor.measure == measure) {
                return Err(fault());
            }
            floors.push(MeasureThreshold { measure, least });
        }
        Ok(Self(floors))
    }
}

impl EvalThresholds {
    /// The floors that were not held, each with what the measure came to. What could not be measured holds no floor.
    pub fn find_violations(&self, figures: &Figures) -> Vec<(MeasureThreshold, EvalRatio)> {
        let came_to = self.0.iter().map(|floor| (*floor, floor.measure.measure(figures)));
        came_to.filter(|(floor, share)| share.ratio().is_none_or(|ratio| ratio < floor.least)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floors_are_read_and_held_or_not() {
        let floors: EvalThresholds = "recall=0.8, precision=0.9,clean=1.0".parse().unwrap();
        let figures = Figures {
            recall: EvalRatio { some: 4, all: 5 },
            precision: EvalRatio { some: 8, all: 9 },
            ..Figures::default()
        };
        let broken: Vec<_> = floors.find_violations(&figures).into_iter().map(|(floor, _)| floor.measure).collect();
        assert_eq!(broken, [Measure::Precision, Measure::Clean], "what was not measured holds no floor");
    }

    #[test]
    fn what_is_no_floor_is_refused() {
        for text in
            ["", "recall", "recall=2", "recall=-0.1", "recall=NaN", "speed=1", "recall=1,recall=1", "recall=0.5,"]
        {
            assert!(text.parse::<EvalThresholds>().is_err(), "{text}");
        }
    }
}
