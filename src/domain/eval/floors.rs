//! The thresholds that an evaluation must reach. Main type: [`Floors`].

use std::str::FromStr;

use super::figures::{Figures, Share};

/// A measure that can have a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Issues found.
    Recall,
    /// Findings that are right.
    Precision,
    /// Clean changes that were left in peace.
    Clean,
    /// Issues named in their very lines.
    Location,
}

impl Measure {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Recall, Self::Precision, Self::Clean, Self::Location];

    /// The word that people write.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Recall => "recall",
            Self::Precision => "precision",
            Self::Clean => "clean",
            Self::Location => "location",
        }
    }

    /// Returns its value.
    pub fn of(self, figures: &Figures) -> Share {
        match self {
            Self::Recall => figures.recall,
            Self::Precision => figures.precision,
            Self::Clean => figures.clean,
            Self::Location => figures.location,
        }
    }
}

/// The least that one measure may come to, between 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Floor {
    /// The measure.
    pub measure: Measure,
    /// The least.
    pub least: f64,
}

/// The floors that somebody asked for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Floors(Vec<Floor>);

/// Text that is no list of floors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no floor: write recall, precision, clean or location with a number from 0 to 1, like recall=0.8,clean=1, each once"
)]
pub struct InvalidFloors(pub String);

impl FromStr for Floors {
    type Err = InvalidFloors;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut floors: Vec<Floor> = Vec::new();
        for part in text.split(',').map(str::trim) {
            let fault = || InvalidFloors(part.to_owned());
            let (word, number) = part.split_once('=').ok_or_else(fault)?;
            let measure = Measure::ALL.into_iter().find(|measure| measure.word() == word.trim()).ok_or_else(fault)?;
            let least: f64 = number.trim().parse().map_err(|_| fault())?;
            if !(0.0..=1.0).contains(&least) || floors.iter().any(|floor| floor.measure == measure) {
                return Err(fault());
            }
            floors.push(Floor { measure, least });
        }
        Ok(Self(floors))
    }
}

impl Floors {
    /// The floors that were not held, each with what the measure came to. What could not be measured holds no floor.
    pub fn broken(&self, figures: &Figures) -> Vec<(Floor, Share)> {
        let came_to = self.0.iter().map(|floor| (*floor, floor.measure.of(figures)));
        came_to.filter(|(floor, share)| share.ratio().is_none_or(|ratio| ratio < floor.least)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floors_are_read_and_held_or_not() {
        let floors: Floors = "recall=0.8, precision=0.9,clean=1.0".parse().unwrap();
        let figures =
            Figures { recall: Share { some: 4, all: 5 }, precision: Share { some: 8, all: 9 }, ..Figures::default() };
        let broken: Vec<_> = floors.broken(&figures).into_iter().map(|(floor, _)| floor.measure).collect();
        assert_eq!(broken, [Measure::Precision, Measure::Clean], "what was not measured holds no floor");
    }

    #[test]
    fn what_is_no_floor_is_refused() {
        for text in
            ["", "recall", "recall=2", "recall=-0.1", "recall=NaN", "speed=1", "recall=1,recall=1", "recall=0.5,"]
        {
            assert!(text.parse::<Floors>().is_err(), "{text}");
        }
    }
}
