/** Puts the stub in place of the module `vscode`, which only the editor has. */
import * as Module from "node:module";
import { pathToFileURL } from "node:url";
import { join } from "node:path";

Module.registerHooks({
    resolve: (specifier, context, next) =>
        specifier === "vscode"
            ? { url: pathToFileURL(join(__dirname, "stub.js")).href, format: "commonjs", shortCircuit: true }
            : next(specifier, context),
});
