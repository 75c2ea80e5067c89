/** Finding the program, and the policy for a server that dies. */
import { execFile } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";

import { plain } from "./text";

/** A server that cannot be started; the message says what to do. */
export class ServerError extends Error {}

const PROBE_MILLISECONDS = 15_000;

/** A setting as `WorkspaceConfiguration.inspect` shows it. */
export interface InspectedSetting {
    defaultValue?: unknown;
    globalValue?: unknown;
}

/** The configured path. Values of a workspace are ignored even if VS Code should pass them: a repository must not choose a program. */
export function configuredPath(setting: InspectedSetting | undefined): string {
    const value = setting?.globalValue ?? setting?.defaultValue ?? "review";
    if (typeof value !== "string" || value.trim() === "") {
        throw new ServerError("The setting review.path is not a path. Correct it in your user settings.");
    }
    return value.trim();
}

function isExecutable(path: string): boolean {
    try {
        accessSync(path, constants.X_OK);
        return statSync(path).isFile();
    } catch {
        return false;
    }
}

/**
 * The absolute path of the program. A name is looked up in the absolute folders of `PATH` only: the system's own lookup may include the
 * current folder, which can be a repository.
 */
export function findProgram(path: string, searchPath: string, isWindows: boolean, canRun: (path: string) => boolean = isExecutable): string {
    const names = isWindows && !/\.(exe|com)$/i.test(path) ? [`${path}.exe`] : [path];
    if (isAbsolute(path)) {
        const found = [path, ...names].find(canRun);
        if (found === undefined) {
            throw new ServerError(`${path} is not a program that can be run. Correct the setting review.path.`);
        }
        return found;
    }
    if (/[\\/]/.test(path)) {
        throw new ServerError("The setting review.path is a relative path. Enter an absolute path, or a name that is on PATH.");
    }
    for (const folder of searchPath.split(delimiter).filter((folder) => isAbsolute(folder))) {
        const found = names.map((name) => join(folder, name)).find(canRun);
        if (found !== undefined) {
            return found;
        }
    }
    throw new ServerError(`The program ${path} is not on PATH. Install review, or enter its absolute path in the setting review.path.`);
}

/** Fails if the program is not a `review` that has the language server. */
export async function probe(program: string, folder: string, limit = PROBE_MILLISECONDS): Promise<void> {
    const options = { cwd: folder, timeout: limit, killSignal: "SIGKILL", maxBuffer: 1 << 20, windowsHide: true } as const;
    await new Promise<void>((resolve, reject) => {
        execFile(program, ["lsp", "--help"], options, (error, _output, diagnostics) => {
            if (error === null) {
                resolve();
            } else if (error.killed === true) {
                reject(new ServerError(`${program} did not answer within ${String(limit / 1_000)} s. Check the setting review.path.`));
            } else if (typeof error.code === "number") {
                const detail = plain(diagnostics.split("\n", 1)[0]);
                const shown = detail === "" ? "" : ` (${detail})`;
                reject(new ServerError(`${program} has no language server${shown}. Update review to a version with \`review lsp\`.`));
            } else {
                reject(new ServerError(`${program} could not be started (${plain(error.code ?? error.message)}). Correct the setting review.path.`));
            }
        });
    });
}

/** The limit of restarts: a server that dies more often within a few minutes stays down until the user restarts it. */
export class RestartLimit {
    private deaths: number[] = [];

    constructor(
        private readonly most = 3,
        private readonly milliseconds = 180_000,
        private readonly now: () => number = Date.now,
    ) {}

    /** Records a death, and decides if the server may be started again. */
    allowsRestart(): boolean {
        const now = this.now();
        this.deaths = [...this.deaths.filter((death) => now - death < this.milliseconds), now];
        return this.deaths.length <= this.most;
    }

    /** The user restarted the server. */
    reset(): void {
        this.deaths = [];
    }
}
