/** The connection to `review lsp`: starting it, its death, its messages and requests. */
import * as os from "node:os";
import * as vscode from "vscode";
import { CloseAction, ErrorAction, ExecuteCommandRequest, LanguageClient, State } from "vscode-languageclient/node";

import { middleware } from "./middleware";
import { FINDINGS_METHOD, SERVER_COMMANDS, STATUS_METHOD, parseFindings, parseStatus } from "./protocol";
import { RestartLimit, ServerError, configuredPath, findProgram, probe } from "./server";
import type { ReviewState } from "./state";
import { plain } from "./text";

const START_MILLISECONDS = 60_000;
const REQUEST_MILLISECONDS = 30_000;
const COMMAND_MILLISECONDS = 120_000;

/** The text of any error, for a notification. */
export function errorText(error: unknown): string {
    return plain(error instanceof Error ? error.message : String(error)) || "unknown error";
}

/** Waits for a promise, for a limited time. */
async function withLimit<T>(promise: Promise<T>, milliseconds: number, action: string): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<never>((_resolve, reject) => {
        timer = setTimeout(() => {
            reject(new ServerError(`The server did not answer ${action} within ${String(milliseconds / 1_000)} s. See the log.`));
        }, milliseconds);
    });
    try {
        return await Promise.race([promise, limit]);
    } finally {
        clearTimeout(timer);
    }
}

/** The client without its own notifications: the session shows what happened once, with what to do. */
class QuietClient extends LanguageClient {
    override error(message: string, data?: unknown): void {
        super.error(message, data, false);
    }
}

export class Session implements vscode.Disposable {
    private client: LanguageClient | undefined;
    private starting: Promise<void> | undefined;
    /** The number of stops: a start that was overtaken by one ends. */
    private stops = 0;
    private readonly restarts = new RestartLimit();
    /** The number of the latest request for findings of each folder; older responses are dropped. */
    private readonly requests = new Map<string, number>();

    constructor(
        private readonly state: ReviewState,
        private readonly log: vscode.LogOutputChannel,
        private readonly runCommand: (command: string, args: unknown[]) => Promise<unknown>,
        private readonly changed: () => void,
    ) {}

    /** Starts the server; what prevents that is shown, with what to do. Concurrent calls share one start. */
    async start(): Promise<void> {
        this.starting ??= this.startOnce().finally(() => {
            this.starting = undefined;
        });
        await this.starting;
    }

    private async startOnce(): Promise<void> {
        const stops = this.stops;
        this.state.server = { state: "starting" };
        this.changed();
        let client: LanguageClient | undefined;
        try {
            const setting = vscode.workspace.getConfiguration("review").inspect("path");
            const program = findProgram(configuredPath(setting), process.env.PATH ?? "", process.platform === "win32");
            await probe(program, os.homedir());
            if (stops === this.stops) {
                this.log.info(`Starting ${program} lsp.`);
                client = this.createClient(program);
                this.client = client;
                await withLimit(client.start(), START_MILLISECONDS, "initialize");
                this.checkCommands(client);
            }
        } catch (error) {
            // This ends the process of a client that did not come up; there is nothing else to stop then.
            await client?.stop().catch(() => undefined);
            if (stops === this.stops) {
                this.fail(error instanceof ServerError ? error.message : `The language server could not be started: ${errorText(error)}`);
            }
        }
    }

    private createClient(program: string): LanguageClient {
        // Not started in a folder of the workspace: the server learns of those by the protocol.
        const server = { command: program, args: ["lsp"], options: { cwd: os.homedir() } };
        const client = new QuietClient("review", "Review", server, {
            documentSelector: [{ scheme: "file" }],
            outputChannel: this.log,
            middleware: middleware(this.runCommand),
            markdown: { isTrusted: false, supportHtml: false },
            initializationFailedHandler: () => false,
            errorHandler: {
                error: () => ({ action: ErrorAction.Continue, handled: true }),
                closed: () => ({ action: CloseAction.DoNotRestart, handled: true }),
            },
        });
        client.onDidChangeState(({ newState }) => {
            if (newState === State.Running) {
                this.state.server = { state: "running" };
                this.changed();
                void this.refreshAll();
            } else if (newState === State.Stopped && this.client === client && this.starting === undefined) {
                this.handleDeath();
            }
        });
        client.onNotification(STATUS_METHOD, (params: unknown) => {
            this.handleStatus(params);
        });
        // In place of the client's own, which would make links of what the message holds.
        client.onNotification("window/showMessage", (params: unknown) => {
            showMessage(params);
        });
        client.onRequest("window/showMessageRequest", async (params: unknown) => {
            const actions = (params as { actions?: unknown } | null)?.actions;
            const titles = (Array.isArray(actions) ? actions : []).map((action) => plain((action as { title?: unknown } | null)?.title, 60));
            const chosen = await showMessage(params, ...titles.filter((title) => title !== ""));
            return chosen === undefined ? null : (actions as unknown[])[titles.indexOf(chosen)];
        });
        return client;
    }

    /** Starts a server that died again, with a new client, unless it died too often. */
    private handleDeath(): void {
        this.client = undefined;
        this.state.clear();
        if (this.restarts.allowsRestart()) {
            this.log.warn("The language server ended unexpectedly. It is started again.");
            void this.start();
        } else {
            this.fail("The language server ended unexpectedly several times. See the log, then restart it.");
        }
    }

    private fail(problem: string): void {
        this.log.error(problem);
        this.client = undefined;
        this.state.clear();
        this.state.server = { state: "stopped", problem };
        this.changed();
        void vscode.window.showErrorMessage(`Review: ${plain(problem)}`, "Open Settings", "Show Log", "Restart").then((choice) => {
            if (choice === "Open Settings") {
                void vscode.commands.executeCommand("workbench.action.openSettings", "review.path");
            } else if (choice === "Show Log") {
                this.log.show();
            } else if (choice === "Restart") {
                void this.restart();
            }
        });
    }

    private checkCommands(client: LanguageClient): void {
        const known = new Set(client.initializeResult?.capabilities.executeCommandProvider?.commands ?? []);
        const missing = Object.values(SERVER_COMMANDS).filter((command) => !known.has(command));
        if (missing.length > 0) {
            this.log.warn(`The server lacks ${missing.join(", ")}.`);
            void vscode.window.showWarningMessage(`Review: the server lacks ${missing.join(", ")}. Update review.`);
        }
    }

    private handleStatus(params: unknown): void {
        try {
            const status = parseStatus(params);
            if (this.state.setStatus(status)) {
                this.changed();
                void this.refresh(status.folder);
            }
        } catch (error) {
            this.log.error(errorText(error));
            for (const folder of vscode.workspace.workspaceFolders ?? []) {
                this.state.setProblem(folder.uri.toString(), errorText(error));
            }
            this.changed();
        }
    }

    /** Reads the findings of all folders anew. */
    async refreshAll(): Promise<void> {
        await Promise.all((vscode.workspace.workspaceFolders ?? []).map((folder) => this.refresh(folder.uri.toString())));
    }

    async refresh(folder: string): Promise<void> {
        const request = (this.requests.get(folder) ?? 0) + 1;
        this.requests.set(folder, request);
        const client = this.client;
        if (client?.isRunning() !== true) {
            return;
        }
        const isLatest = (): boolean => this.requests.get(folder) === request && this.client === client && client.isRunning();
        try {
            const response = client.sendRequest<unknown>(FINDINGS_METHOD, { folder });
            const findings = parseFindings(await withLimit(response, REQUEST_MILLISECONDS, FINDINGS_METHOD));
            if (isLatest()) {
                this.state.setFindings(folder, findings);
                this.changed();
            }
        } catch (error) {
            if (isLatest()) {
                this.log.error(errorText(error));
                this.state.setProblem(folder, `The findings could not be read: ${errorText(error)}`);
                this.changed();
            }
        }
    }

    /** Calls a command of the server. */
    async execute(command: string, argument: unknown): Promise<unknown> {
        await this.starting;
        if (this.client?.isRunning() !== true) {
            throw new ServerError("The language server is not running. Run “Review: Restart Language Server”.");
        }
        const params = { command, arguments: [argument] };
        return await withLimit<unknown>(this.client.sendRequest(ExecuteCommandRequest.type, params), COMMAND_MILLISECONDS, command);
    }

    async restart(): Promise<void> {
        await this.stop();
        await this.starting;
        this.restarts.reset();
        await this.start();
    }

    /** Stops the server, or the start of one. */
    async stop(): Promise<void> {
        const client = this.client;
        this.client = undefined;
        this.stops += 1;
        this.state.clear();
        await client?.stop().catch((error: unknown) => {
            this.log.debug(errorText(error));
        });
    }

    dispose(): void {
        void this.stop();
    }
}

function showMessage(params: unknown, ...actions: string[]): Thenable<string | undefined> {
    const { type, message } = (params ?? {}) as { type?: unknown; message?: unknown };
    const text = `Review: ${plain(message)}`;
    switch (type) {
        case 1:
            return vscode.window.showErrorMessage(text, ...actions);
        case 2:
            return vscode.window.showWarningMessage(text, ...actions);
        default:
            return vscode.window.showInformationMessage(text, ...actions);
    }
}
