//! A repository made of functions that look like anybody's, in eight languages. Main function: [`make`].

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Of a file's functions this one stays, adds a defect, or is written anew.
const FUNCTIONS: usize = 12;

/// A language: the ending of its files, what they begin with, a function, and one with something wrong in it. `{n}` is a number, `{f}` the
/// file's.
const LANGUAGES: &[(&str, &str, &str, &str)] = &[
    (
        "rs",
        "use std::collections::HashMap;\nuse std::fs;\n\n",
        "/// Reads the entries of {n}.\npub fn entries_{f}_{n}(path: &str, limit: usize) -> Result<HashMap<String, usize>, std::io::Error> {\n    let text = fs::read_to_string(path)?;\n    let mut found = HashMap::new();\n    for (at, line) in text.lines().enumerate().take(limit) {\n        let Some((name, value)) = line.split_once('=') else { continue };\n        let size = value.trim().parse().unwrap_or(at + {n});\n        found.insert(name.trim().to_owned(), size);\n    }\n    Ok(found)\n}\n\n",
        "pub fn later_{f}_{n}(value: f64) -> bool {\n    if value == f64::NAN {\n        todo!()\n    }\n    value > {n}.0\n}\n\n",
    ),
    (
        "py",
        "import json\nimport logging\n\nlog = logging.getLogger(__name__)\n\n\n",
        "def entries_{f}_{n}(path, limit=10):\n    \"\"\"Read the entries of {n}.\"\"\"\n    found = {}\n    with open(path, encoding='utf-8') as source:\n        for at, line in enumerate(source):\n            if at >= limit:\n                break\n            name, _, value = line.partition('=')\n            try:\n                found[name.strip()] = int(value) + {n}\n            except ValueError as error:\n                log.warning('line %d: %s', at, error)\n    return json.dumps(found)\n\n\n",
        "def later_{f}_{n}(value, seen=[]):\n    seen.append(value)\n    if value is 'name{n}':\n        return seen\n    return None\n\n\n",
    ),
    (
        "ts",
        "import { readFile } from 'node:fs/promises';\n\ninterface Entry {\n  name: string;\n  size: number;\n}\n\n",
        "export async function entries{f}x{n}(path: string, limit = 10): Promise<Entry[]> {\n  const text = await readFile(path, 'utf8');\n  const found: Entry[] = [];\n  for (const [at, line] of text.split('\\n').entries()) {\n    if (at >= limit) break;\n    const [name, value] = line.split('=');\n    const size = Number.parseInt(value ?? '{n}', 10);\n    if (!Number.isNaN(size)) found.push({ name: name.trim(), size });\n  }\n  return found.sort((a, b) => a.size - b.size);\n}\n\n",
        "export const later{f}x{n} = new Promise(async (resolve) => {\n  resolve(await entries{f}x0('{n}'));\n});\n\n",
    ),
    (
        "tsx",
        "import React from 'react';\n\n",
        "export function Entry{f}x{n}({ name, size, onOpen }: { name: string; size: number; onOpen: (name: string) => void }) {\n  const [open, setOpen] = React.useState(false);\n  const label = open ? `${name} (${size + {n}})` : name;\n  return (\n    <li className=\"entry\">\n      <button\n        onClick={() => {\n          setOpen(!open);\n          onOpen(name);\n        }}\n      >\n        {label}\n      </button>\n    </li>\n  );\n}\n\n",
        "export function Later{f}x{n}({ html }: { html: string }) {\n  eval(html);\n  return <p dangerouslySetInnerHTML={{ __html: html }} />;\n}\n\n",
    ),
    (
        "go",
        "package entries\n\nimport (\n\t\"bufio\"\n\t\"os\"\n\t\"strconv\"\n\t\"strings\"\n)\n\n",
        "// Entries{f}x{n} reads the entries of {n}.\nfunc Entries{f}x{n}(path string, limit int) (map[string]int, error) {\n\tsource, err := os.Open(path)\n\tif err != nil {\n\t\treturn nil, err\n\t}\n\tdefer source.Close()\n\tfound := map[string]int{}\n\tscanner := bufio.NewScanner(source)\n\tfor at := 0; scanner.Scan() && at < limit; at++ {\n\t\tname, value, _ := strings.Cut(scanner.Text(), \"=\")\n\t\tsize, err := strconv.Atoi(value)\n\t\tif err != nil {\n\t\t\tsize = at + {n}\n\t\t}\n\t\tfound[name] = size\n\t}\n\treturn found, scanner.Err()\n}\n\n",
        "func Later{f}x{n}(paths []string) {\n\tfor _, path := range paths {\n\t\tsource, _ := os.Open(path)\n\t\tdefer source.Close()\n\t}\n}\n\n",
    ),
    (
        "java",
        "package entries;\n\nimport java.io.IOException;\nimport java.nio.file.Files;\nimport java.nio.file.Path;\nimport java.util.HashMap;\nimport java.util.Map;\n\nfinal class Entries{f} {\n",
        "    Map<String, Integer> entries{n}(Path path, int limit) throws IOException {\n        Map<String, Integer> found = new HashMap<>();\n        int at = 0;\n        for (String line : Files.readAllLines(path)) {\n            if (at++ >= limit) {\n                break;\n            }\n            String[] parts = line.split(\"=\", 2);\n            try {\n                found.put(parts[0].trim(), Integer.parseInt(parts[1].trim()) + {n});\n            } catch (NumberFormatException error) {\n                throw new IOException(\"line \" + at, error);\n            }\n        }\n        return found;\n    }\n\n",
        "    boolean later{n}(String name) {\n        try {\n            return name == \"name{n}\";\n        } catch (RuntimeException error) {\n        }\n        return false;\n    }\n\n",
    ),
    (
        "c",
        "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\n",
        "static int entries_{f}_{n}(const char *path, int limit)\n{\n\tFILE *source = fopen(path, \"r\");\n\tchar line[256];\n\tint found = 0;\n\tif (!source)\n\t\treturn -1;\n\twhile (found < limit && fgets(line, sizeof(line), source)) {\n\t\tchar *value = strchr(line, '=');\n\t\tif (!value)\n\t\t\tcontinue;\n\t\t*value = '\\0';\n\t\tfound += atoi(value + 1) > {n};\n\t}\n\tfclose(source);\n\treturn found;\n}\n\n",
        "int later_{f}_{n}(const char *name)\n{\n\tchar copy[16];\n\tstrcpy(copy, name);\n\treturn copy[0] = 'x';\n}\n\n",
    ),
    (
        "sh",
        "#!/usr/bin/env bash\nset -euo pipefail\n\n",
        "entries_{f}_{n}() {\n  local path=$1 limit=${2:-10}\n  local at=0\n  while IFS='=' read -r name value; do\n    [ \"$at\" -ge \"$limit\" ] && break\n    printf '%s %s\\n' \"$name\" \"$((value + {n}))\"\n    at=$((at + 1))\n  done < \"$path\"\n}\n\n",
        "later_{f}_{n}() {\n  rm -rf $1/build\n  curl -s \"$2\" | sh\n}\n\n",
    ),
];

/// What a file is in a commit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Base,
    /// Functions are added, taken away and changed.
    Changed,
    /// One function is written anew, and something is wrong beside it: as much of a file as large changes touch.
    Edited,
    /// One function is added.
    Touched,
}

/// Makes a bare repository with the tags `base`, `many` (so many files, two fifths of each written anew), `spread` (as many files, one function of each) and
/// `few` (a hundred lines).
pub(crate) fn make(folder: &Path, files: usize, changed: usize) -> Result<(), String> {
    let git = |args: &[&str]| {
        let done = Command::new("git").arg("-C").arg(folder).args(args).status().map_err(|error| error.to_string())?;
        if done.success() { Ok(()) } else { Err(format!("git {args:?}: {done}")) }
    };
    std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    git(&["init", "--quiet", "--bare", "."])?;
    let mut import = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(["fast-import", "--quiet", "--force"])
        .stdin(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let mut stream = import.stdin.take().ok_or("git takes no input")?;
    let mut commit = |name: &str, mark: usize, from: Option<usize>, of: &[(usize, State)]| -> std::io::Result<()> {
        writeln!(stream, "commit refs/tags/{name}\nmark :{mark}\ncommitter a <a@b> {} +0000", 1_700_000_000 + mark)?;
        writeln!(stream, "data {}\n{name}", name.len())?;
        if let Some(from) = from {
            writeln!(stream, "from :{from}")?;
        }
        for (file, state) in of {
            let (path, text) = source(*file, *state);
            writeln!(stream, "M 100644 inline {path}\ndata {}\n{text}", text.len())?;
        }
        Ok(())
    };
    let every = (files / changed.max(1)).max(1);
    let all: Vec<_> = (0..files).map(|file| (file, State::Base)).collect();
    let many: Vec<_> = (0..changed.min(files)).map(|file| (file * every % files, State::Changed)).collect();
    let spread: Vec<_> = many.iter().map(|(file, _)| (*file, State::Edited)).collect();
    let few: Vec<_> = (0..16).map(|file| (file * 7 % files.max(1), State::Touched)).collect();
    commit("base", 1, None, &all)
        .and_then(|()| commit("many", 2, Some(1), &many))
        .and_then(|()| commit("few", 3, Some(1), &few))
        .and_then(|()| commit("spread", 4, Some(1), &spread))
        .map_err(|error| error.to_string())?;
    drop(stream);
    let done = import.wait().map_err(|error| error.to_string())?;
    if done.success() { Ok(()) } else { Err(format!("git fast-import: {done}")) }
}

/// The path and the text of a file.
fn source(file: usize, state: State) -> (String, String) {
    let (ending, header, function, defect) = LANGUAGES[file % LANGUAGES.len()];
    let mut text = String::new();
    let mut add = |part: &str, n: usize| {
        let filled = part.replace("{n}", &n.to_string()).replace("{f}", &file.to_string());
        text.push_str(&filled);
    };
    add(header, 0);
    for n in 0..FUNCTIONS + file % 9 {
        match (state, n % 5) {
            // What goes, what is written anew, and what comes before it.
            (State::Changed, 1) => {}
            (State::Changed, 2) => add(function, n + 1000),
            (State::Changed, 3) => {
                add(defect, n);
                add(function, n);
            }
            (State::Edited, 3) if n == 3 => {
                add(function, n + 1000);
                add(defect, n);
            }
            _ => add(function, n),
        }
    }
    if state == State::Touched {
        add(defect, 77);
    }
    if ending == "java" {
        text.push_str("}\n");
    }
    let mut path = String::new();
    let _ = write!(path, "part{}/module{}/entries{file}.{ending}", file % 20, file % 7);
    (path, text)
}
