//! The result of `review editor probe`, for a terminal and for programs.

use serde_json::{Value, json};

use crate::domain::editor::{EditorProbe, EditorSource};
use crate::domain::text::strip_line;

fn origin(source: EditorSource) -> &'static str {
    match source {
        EditorSource::Flag => "--socket",
        EditorSource::Variable => "DIALECTIC_IPC_PATH",
        EditorSource::Process => "parent process",
        EditorSource::Bus => "daemon of a parent process",
    }
}

/// Renders the places that were searched, one line each, and the editor. `advice` is for the case that there is none.
pub fn terminal(probe: &EditorProbe, advice: &str) -> String {
    let mut out = String::new();
    for lookup in &probe.lookups {
        let fault = lookup.fault.as_deref().unwrap_or("a socket");
        out.push_str(&strip_line(&format!("{}: {}: {fault}", origin(lookup.source), lookup.path.display())));
        out.push('\n');
    }
    let Some(editor) = &probe.editor else {
        out.push_str(&format!("{advice}\n"));
        return out;
    };
    let path = strip_line(&editor.path.display().to_string());
    match &editor.fault {
        None => out.push_str(&format!("editor: {path} answers, generation {}\n", editor.generation.as_str())),
        Some(fault) => out.push_str(&format!("editor: {path}: {}\n", strip_line(fault))),
    }
    if editor.shell > 0 {
        out.push_str(&format!("shell of the terminal: process {}\n", editor.shell));
    }
    out
}

/// Renders the same as JSON.
pub fn json(probe: &EditorProbe) -> Vec<u8> {
    let path = |path: &std::path::Path| Value::from(path.to_string_lossy().into_owned());
    let lookups: Vec<Value> = probe
        .lookups
        .iter()
        .map(|lookup| json!({ "source": lookup.source, "path": path(&lookup.path), "fault": lookup.fault }))
        .collect();
    let editor = probe.editor.as_ref().map(|editor| {
        json!({
            "path": path(&editor.path), "answers": editor.fault.is_none(), "generation": editor.generation.as_str(),
            "shell": editor.shell, "fault": editor.fault,
        })
    });
    format!("{:#}\n", json!({ "lookups": lookups, "editor": editor })).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::editor::{EditorGeneration, EditorLookup, ProbedEditor};

    #[test]
    fn it_names_each_place_and_the_editor() {
        let lookup = |source, fault: Option<&str>| EditorLookup {
            source,
            path: "/tmp/a\u{7}.sock".into(),
            fault: fault.map(str::to_owned),
        };
        let mut probe = EditorProbe { lookups: vec![lookup(EditorSource::Flag, Some("gone"))], editor: None };
        assert_eq!(terminal(&probe, "none"), "--socket: /tmp/a<U+0007>.sock: gone\nnone\n");
        probe.lookups.push(lookup(EditorSource::Bus, None));
        let editor =
            ProbedEditor { path: "/tmp/a.sock".into(), shell: 7, generation: EditorGeneration::CorD, fault: None };
        probe.editor = Some(editor);
        let text = terminal(&probe, "none");
        assert!(
            text.ends_with(
                ": a socket\neditor: /tmp/a.sock answers, generation C or D\nshell of the terminal: process 7\n"
            ),
            "{text}"
        );
        let value: Value = serde_json::from_slice(&json(&probe)).unwrap();
        assert_eq!((&value["lookups"][1]["source"], &value["editor"]["answers"]), (&json!("bus"), &json!(true)));
    }
}
