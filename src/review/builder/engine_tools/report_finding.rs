//! `report_finding`: a defect with its evidence.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use serde_json::Value;

use super::text::ReaderText;
use super::values::{self, SideSchema, StatedConfidence};
use super::{EngineCall, EngineTool};
use crate::domain::claim::{Claim, ClaimedPlace};
use crate::domain::finding::{FindingOrigin, OriginKind};
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::text::mask;
use crate::llm::find_leaked_markup;
use crate::tools::{ErrorKind, ToolFault, input};

pub(in crate::review) const NAME: &str = "report_finding";
/// The field that names a run.
pub(in crate::review) const BUILD_RUN: &str = "build_run";

/// The longest body, in bytes.
const LONGEST_BODY: usize = 16 << 10;

pub(super) const TOOL: EngineTool = EngineTool {
    name: NAME,
    description: "Reports one defect that the change introduces. The quote is checked against the file at once: the answer says the id and the lines \
        that the finding stands on, or what is wrong and the nearest lines, so that you can report it again with the same title. What is never \
        corrected or withdrawn is withheld. With the `id` of an accepted finding, the report replaces it.",
    schema: input::schema::<Input>,
    read,
};

/// A report that could be read.
#[derive(Debug)]
pub(in crate::review) struct FindingReport {
    pub(in crate::review) claim: Claim,
    /// The finding, or the rejected report, that it corrects.
    pub(in crate::review) id: Option<String>,
    /// Leads that the report claims to confirm.
    pub(in crate::review) leads: Vec<String>,
    /// The guideline that it names.
    pub(in crate::review) guideline: Option<String>,
    /// The run that proves it.
    pub(in crate::review) build_run: Option<String>,
    /// Remarks for the model besides the outcome.
    pub(in crate::review) notes: Vec<String>,
}

/// A report that could not be read, with what could be extracted.
#[derive(Debug)]
pub(in crate::review) struct UnreadableReport {
    pub(in crate::review) title: String,
    pub(in crate::review) path: String,
    /// The finding, or the rejected report, that it would correct.
    pub(in crate::review) id: Option<String>,
    pub(in crate::review) fault: ToolFault,
}

/// A defect.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// One line: what is wrong, at most 12 words.
    title: String,
    /// Markdown, at most 80 words: the defect, one concrete case that sets it off, and the fix. "Here" and "this function" mean the quoted lines.
    body: String,
    /// How bad it is.
    #[schemars(extend("enum" = values::severities()))]
    severity: String,
    /// What kind of defect it is.
    #[schemars(extend("enum" = values::categories()))]
    category: String,
    /// Path of the file that the finding is shown at, relative to the repository root.
    #[serde(alias = "path")]
    file_path: String,
    /// The lines it is about, verbatim and whole, without line numbers or diff marks: the finding is shown there. At least one of them, or of
    /// those of `related`, must be changed.
    quote: String,
    /// First line of the quote, counted from 1, where you know it.
    #[serde(default, deserialize_with = "input::number")]
    #[schemars(with = "u32", range(min = 1))]
    start_line: Option<u32>,
    /// Last line of the quote, included.
    #[serde(default, deserialize_with = "input::number")]
    #[schemars(with = "u32", range(min = 1))]
    end_line: Option<u32>,
    /// The file after the change (`new`, the default), or before it (`old`) for lines that were removed.
    #[serde(default, deserialize_with = "values::side")]
    #[schemars(with = "SideSchema")]
    side: DiffSide,
    /// The whole lines that shall stand in place of the quoted ones, with their indentation. Leave it out unless it is the complete fix. To delete
    /// lines, quote a line that stays as well and give that one.
    #[serde(default, deserialize_with = "input::text")]
    suggestion: Option<String>,
    /// Other places that prove the effect, at most 20; they need not be changed.
    #[serde(default, deserialize_with = "related")]
    related: Vec<RelatedPlaceInput>,
    /// The ids of the leads that it confirms, all of them of this one cause; its quote or a `related` one must stand on the lines of each.
    #[serde(default, deserialize_with = "values::ids")]
    leads: Vec<String>,
    /// The same for one, as older prompts name it.
    #[serde(default, deserialize_with = "values::ids")]
    #[schemars(skip)]
    lead: Vec<String>,
    /// To correct an accepted finding: its id (`F1`). This report then stands in its place, so give it whole.
    #[serde(default, deserialize_with = "values::optional_id")]
    id: Option<String>,
    /// The line of the project's guidelines that is broken, as `path:line`; it must apply to the file.
    #[serde(default, deserialize_with = "input::text")]
    guideline: Option<String>,
    /// The run of `build` that proves it, by its id: its first lines are shown with the finding.
    #[serde(default, deserialize_with = "input::text")]
    build_run: Option<String>,
    /// How sure you are, from 1 (a guess) to 10 (certain).
    #[serde(default, deserialize_with = "values::stated_confidence")]
    #[schemars(with = "u32", range(min = 1, max = 10))]
    confidence: StatedConfidence,
}

/// Another place.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct RelatedPlaceInput {
    /// Path of the file.
    #[serde(alias = "path")]
    file_path: String,
    /// Its lines, verbatim and whole.
    quote: String,
    /// First line of the quote.
    #[serde(default, deserialize_with = "input::number")]
    #[schemars(with = "u32", range(min = 1))]
    start_line: Option<u32>,
    /// Why it matters.
    #[serde(default, deserialize_with = "input::text")]
    note: Option<String>,
}

/// Reads the related places: a list, a single one, or either of them as text.
fn related<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<RelatedPlaceInput>, D::Error> {
    let value = match Value::deserialize(deserializer)? {
        Value::String(text) if text.trim().is_empty() => Value::Null,
        Value::String(text) => serde_json::from_str(&text)
            .map_err(|_| D::Error::custom("it must be a list of objects with `file_path` and `quote`"))?,
        value => value,
    };
    let values = match value {
        Value::Null => Vec::new(),
        Value::Array(values) => values,
        one => vec![one],
    };
    let read = |(at, value)| {
        RelatedPlaceInput::deserialize(value).map_err(|error| D::Error::custom(format!("related[{at}]: {error}")))
    };
    values.into_iter().enumerate().map(read).collect()
}

#[expect(clippy::unnecessary_wraps, reason = "the other tools fail here")]
fn read(input: Value) -> Result<EngineCall, ToolFault> {
    let named = |field: &str| input.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (title, path) = (named("title"), named("file_path"));
    let id = input.get("id").and_then(|id| values::optional_id(id).ok().flatten());
    let unreadable = |fault| EngineCall::UnreadableReport(UnreadableReport { title, path, id, fault });
    Ok(read_report(input).map_or_else(unreadable, EngineCall::Report))
}

fn read_report(input: Value) -> Result<FindingReport, ToolFault> {
    let input: Input = input::parse(input)?;
    let mut notes = Vec::new();
    let title = ReaderText { field: "title", text: &input.title }.title(&mut notes)?;
    let body = ReaderText { field: "body", text: &input.body }.block(LONGEST_BODY, &mut notes)?;
    let severity = values::severity(&input.severity)?;
    let category = values::category(&input.category)?;
    let confidence = match input.confidence {
        StatedConfidence::Unsaid => None,
        StatedConfidence::Said(confidence) => Some(confidence),
        StatedConfidence::Unclear => {
            notes.push("`confidence` was dropped: it is a whole number from 1 to 10.".to_owned());
            None
        }
    };
    let place = ClaimedPlace {
        path: input::file_path(&input.file_path)?,
        side: input.side,
        quote: Some(mask(&input.quote).text),
        lines: lines(input.start_line, input.end_line, &mut notes),
        note: None,
    };
    // A value that includes the markup of the call is no fix, unless the code itself is about such markup: then the quote has it too.
    let leak = input.suggestion.as_deref().and_then(find_leaked_markup);
    if let Some(dialect) = leak.filter(|_| leak != find_leaked_markup(&input.quote)) {
        let message = format!(
            "`suggestion` holds a tool call written as text ({dialect}): give only the lines that shall stand there, or none"
        );
        return Err(ToolFault::new(ErrorKind::InvalidInput, message));
    }
    let related = input.related.into_iter().filter_map(|place| other(place, &mut notes)).collect();
    let claim = Claim {
        title,
        body,
        severity,
        category,
        confidence,
        place,
        related,
        replacement: input.suggestion,
        // The model's name is set once, when the review is finished.
        origin: FindingOrigin { kind: OriginKind::Model, name: String::new() },
    };
    let mut leads = input.leads;
    leads.extend(input.lead.into_iter().filter(|lead| !leads.contains(lead)).collect::<Vec<_>>());
    Ok(FindingReport { claim, id: input.id, leads, guideline: input.guideline, build_run: input.build_run, notes })
}

fn other(place: RelatedPlaceInput, notes: &mut Vec<String>) -> Option<ClaimedPlace> {
    let path = match input::file_path(&place.file_path) {
        Ok(path) => path,
        Err(fault) => {
            notes.push(format!("A related place was dropped: {}", fault.message));
            return None;
        }
    };
    let lines = lines(place.start_line, None, notes);
    let note = place.note.map(|text| ReaderText { field: "note", text: &text }.sentence(notes)).transpose();
    let note = note.unwrap_or_else(|fault| {
        notes.push(format!("The note of a related place was dropped: {}.", fault.message));
        None
    });
    Some(ClaimedPlace { path, side: DiffSide::New, quote: Some(mask(&place.quote).text), lines, note })
}

/// Returns the claimed lines. They only help to find the quote, so nonsense is reported but harmless.
fn lines(start: Option<u32>, end: Option<u32>, notes: &mut Vec<String>) -> Option<LineRange> {
    let start = start.or(end).filter(|start| *start > 0)?;
    let end = end.unwrap_or(start);
    let range = LineRange::new(start, end);
    if let Err(error) = &range {
        notes.push(format!("`end_line` was not used: {error}."));
    }
    Some(range.unwrap_or(LineRange::line(start)))
}
