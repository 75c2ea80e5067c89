//! Rules as people look them up: what each says, where it comes from, what the settings make of it. Main type: [`RuleSheet`].

use std::collections::HashSet;

use super::document::On;
use super::pack::PackOwner;
use super::packs::{Packs, RuleInfo};
use crate::domain::finding::Severity;

/// All there is to know about a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleSheet {
    /// Its words, with the severity that counts.
    pub info: RuleInfo,
    /// The severity that it has of itself.
    pub own_severity: Severity,
    /// Whether the settings switch it off.
    pub is_off: bool,
    /// The languages that it is for; none for a check that knows no language.
    pub languages: Vec<&'static str>,
    /// Whether it is about what a change takes away.
    pub on_removed: bool,
    /// Who wrote it, its file, and the line on which it begins there; `None` for what came with the program.
    pub from: Option<(PackOwner, String, u32)>,
    /// The document that defines it; `None` where it is code.
    pub text: Option<String>,
}

impl Packs {
    /// Every rule, in the order of [`rules`](Self::rules).
    pub fn sheets(&self) -> Vec<RuleSheet> {
        let mut sheets = Vec::new();
        for pack in &self.list {
            for chunk in pack.chunks() {
                let Some(rule) = pack.rules().iter().find(|rule| rule.line == chunk.line) else { continue };
                sheets.push(RuleSheet {
                    languages: rule.grammars.iter().map(|grammar| grammar.word()).collect(),
                    on_removed: rule.on == On::Removed,
                    from: pack.from.as_ref().map(|(owner, file)| (*owner, file.clone(), rule.line)),
                    text: Some(pack.shown(&chunk.shown())),
                    ..self.sheet(rule.info.clone())
                });
            }
        }
        let known: HashSet<String> = sheets.iter().map(|sheet| sheet.info.name.clone()).collect();
        sheets.extend(self.own_words().filter(|info| !known.contains(&info.name)).map(|info| self.sheet(info)));
        sheets
    }

    fn sheet(&self, info: RuleInfo) -> RuleSheet {
        let own_severity = info.severity;
        let severity = self.severity_of(&info.name).unwrap_or(own_severity);
        let is_hint = self.confidence(&info, false).is_some();
        RuleSheet {
            own_severity,
            is_off: self.is_off(&info.name),
            languages: Vec::new(),
            on_removed: false,
            from: None,
            text: None,
            info: RuleInfo { severity, is_hint, ..info },
        }
    }

    /// The folder of each rule's fixtures, and its name.
    pub(super) fn folders(&self) -> Vec<(String, String)> {
        let mut folders = Vec::new();
        for pack in &self.list {
            for rule in pack.rules() {
                let id = rule.info.name.rsplit('/').next().unwrap_or_default();
                folders.push((format!("{}/{id}", pack.stem), rule.info.name.clone()));
            }
        }
        let known: HashSet<String> = folders.iter().map(|(_, name)| name.clone()).collect();
        let code = self.own_words().map(|info| info.name).filter(|name| !known.contains(name));
        folders.extend(code.map(|name| (name.clone(), name)));
        folders
    }
}
