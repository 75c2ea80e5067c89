//! Reference pages of rules: description, source and effective settings. Main type: [`RulePage`].

use std::collections::HashSet;

use super::document::ReportedSide;
use super::examples::examples_of;
use super::packs::Packs;
use crate::domain::rule_info::{RuleExamples, RuleInfo, RulePage};

impl Packs {
    /// Returns every rule, in the order of [`rules`](Self::rules).
    pub fn rule_pages(&self) -> Vec<RulePage> {
        let mut sheets = Vec::new();
        for pack in &self.list {
            for chunk in pack.chunks() {
                let Some((number, rule)) = pack.rules().enumerate().find(|(_, rule)| rule.line == chunk.line) else {
                    continue;
                };
                sheets.push(RulePage {
                    languages: rule.grammars.iter().map(|grammar| grammar.word()).collect(),
                    on_removed: pack.entry(number).is_some_and(|entry| entry.on == ReportedSide::Removed),
                    from: pack.from.as_ref().map(|(owner, file)| (*owner, file.clone(), rule.line)),
                    text: Some(pack.display_name(&chunk.display_name())),
                    examples: if pack.from.is_none() { examples_of(&rule.info.name) } else { RuleExamples::default() },
                    ..self.sheet(rule.info.clone())
                });
            }
        }
        let known: HashSet<String> = sheets.iter().map(|sheet| sheet.info.name.clone()).collect();
        sheets.extend(self.custom_rules().filter(|info| !known.contains(&info.name)).map(|info| self.sheet(info)));
        sheets
    }

    fn sheet(&self, info: RuleInfo) -> RulePage {
        let own_severity = info.severity;
        let severity = self.severity_of(&info.name).unwrap_or(own_severity);
        let is_hint = self.confidence(&info, false).is_some();
        RulePage {
            own_severity,
            is_off: self.is_off(&info.name),
            languages: Vec::new(),
            on_removed: false,
            from: None,
            text: None,
            examples: RuleExamples::default(),
            info: RuleInfo { severity, is_hint, ..info },
        }
    }

    /// Returns the fixture folder and the name of each rule.
    pub(super) fn fixture_folders(&self) -> Vec<(String, String)> {
        let mut folders = Vec::new();
        for pack in &self.list {
            for rule in pack.rules() {
                let id = rule.info.name.rsplit('/').next().unwrap_or_default();
                folders.push((format!("{}/{id}", pack.stem), rule.info.name.clone()));
            }
        }
        let known: HashSet<String> = folders.iter().map(|(_, name)| name.clone()).collect();
        let code = self.custom_rules().map(|info| info.name).filter(|name| !known.contains(name));
        folders.extend(code.map(|name| (name.clone(), name)));
        folders
    }
}
