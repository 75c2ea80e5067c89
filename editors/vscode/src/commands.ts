/** The commands of the extension, and those of the server when a code action calls one. */
import * as vscode from "vscode";

import { checkPullRequest, checkReason, checkRule, validation } from "./input";
import { isInWorkspace } from "./middleware";
import { ProtocolError, SERVER_COMMANDS } from "./protocol";
import { errorText, type Session } from "./session";
import type { FolderFinding, ReviewState } from "./state";
import { counted, plainLines } from "./text";
import type { DetailDocuments } from "./views";

type Kind = "branch" | "staged" | "uncommitted" | "pullRequest";

export class Commands {
    constructor(
        private readonly state: ReviewState,
        private readonly session: () => Session,
        private readonly documents: DetailDocuments,
        private readonly log: vscode.LogOutputChannel,
    ) {}

    /** Registers the commands; each shows its errors. */
    register(): vscode.Disposable[] {
        const handlers: Record<string, (argument: unknown) => Promise<void>> = {
            reviewBranch: () => this.review("branch"),
            reviewStaged: () => this.review("staged"),
            reviewUncommitted: () => this.review("uncommitted"),
            reviewPullRequest: () => this.reviewPullRequest(),
            cancel: () => this.cancel(),
            showFinding: (argument) => this.withFinding(argument, "Show", (finding) => this.show(finding)),
            apply: (argument) => this.withFinding(argument, "Apply the suggestion of", (finding) => this.apply(finding)),
            dismiss: (argument) => this.withFinding(argument, "Dismiss", (finding) => this.dismiss(finding)),
            openThread: (argument) => this.withFinding(argument, "Open the thread of", (finding) => this.openThread(finding)),
            explainRule: (argument) => this.explainRule(argument),
            restart: () => this.session().restart(),
            showLog: () => {
                this.log.show();
                return Promise.resolve();
            },
        };
        return Object.entries(handlers).map(([name, handler]) =>
            vscode.commands.registerCommand(`reviewTool.${name}`, async (argument: unknown) => {
                try {
                    await handler(argument);
                } catch (error) {
                    this.log.error(errorText(error));
                    void vscode.window.showErrorMessage(`Review: ${errorText(error)}`);
                }
            }),
        );
    }

    /** Carries out a command of the server that VS Code was asked to run, from a code action for instance. */
    async runServerCommand(command: string, args: unknown[]): Promise<unknown> {
        const argument = (typeof args[0] === "object" && args[0] !== null ? args[0] : {}) as Record<string, unknown>;
        const text = (key: string): string => (typeof argument[key] === "string" ? argument[key] : "");
        const place = text("folder") === "" ? {} : { folder: text("folder") };
        try {
            if (command === SERVER_COMMANDS.dismiss && text("reason") === "") {
                await this.dismiss({ id: text("finding"), ...place });
            } else if (command === SERVER_COMMANDS.explainRule) {
                await this.explainRule({ finding: { rule: text("rule"), ...place } });
            } else {
                const result = await this.session().execute(command, argument);
                await this.session().refreshAll();
                return result;
            }
        } catch (error) {
            this.log.error(errorText(error));
            void vscode.window.showErrorMessage(`Review: ${errorText(error)}`);
        }
        return undefined;
    }

    private async review(kind: Kind, pullRequest?: string): Promise<void> {
        const folder = await chooseFolder();
        if (folder !== undefined) {
            const argument = { kind, folder: folder.uri.toString(), ...(pullRequest === undefined ? {} : { pullRequest }) };
            await this.session().execute(SERVER_COMMANDS.start, argument);
        }
    }

    private async reviewPullRequest(): Promise<void> {
        const text = await vscode.window.showInputBox({
            title: "Review Pull Request",
            prompt: "Number, owner/repo#number, or the address of the pull request",
            validateInput: validation(checkPullRequest),
        });
        if (text !== undefined) {
            await this.review("pullRequest", required(checkPullRequest(text)));
        }
    }

    private async cancel(): Promise<void> {
        const running = this.state.running();
        if (running.length === 0) {
            void vscode.window.showInformationMessage("Review: no review is running.");
        }
        for (const folder of running) {
            await this.session().execute(SERVER_COMMANDS.cancel, { folder: folder.uri });
        }
    }

    /** Calls an action with the finding of the tree's node, or with one that the user chooses. */
    private async withFinding(argument: unknown, verb: string, action: (finding: FolderFinding) => Promise<void>): Promise<void> {
        const id = (argument as { finding?: { id?: unknown } } | null | undefined)?.finding?.id;
        const findings = this.state.findings();
        if (id !== undefined) {
            const finding = findings.find((finding) => finding.id === id);
            if (finding === undefined) {
                throw new Error("This finding is not in the latest review any more.");
            }
            await action(finding);
            return;
        }
        if (findings.length === 0) {
            void vscode.window.showInformationMessage("Review: there are no findings to choose from.");
            return;
        }
        const items = findings.map((finding) => ({
            label: `${finding.severity}: ${finding.title}`,
            description: finding.file === undefined ? "" : `${finding.file}:${String(finding.start.line + 1)}`,
            finding,
        }));
        const chosen = await vscode.window.showQuickPick(items, {
            title: `${verb} a finding (${counted(items.length, "finding")})`,
            matchOnDescription: true,
        });
        if (chosen !== undefined) {
            await action(chosen.finding);
        }
    }

    /** Opens the place of a finding, or its text if the file is not in the workspace or not on disk. */
    private async show(finding: FolderFinding): Promise<void> {
        const uri = vscode.Uri.parse(finding.uri);
        if (isInWorkspace(uri)) {
            const selection = new vscode.Range(finding.start.line, finding.start.character, finding.end.line, finding.end.character);
            try {
                await vscode.window.showTextDocument(uri, { selection });
                return;
            } catch (error) {
                this.log.warn(errorText(error));
            }
        }
        await this.documents.show(`finding ${finding.id}.md`, `# ${finding.title}\n\n${finding.body}\n`);
    }

    private async apply(finding: FolderFinding): Promise<void> {
        await this.session().execute(SERVER_COMMANDS.apply, { finding: finding.id, folder: finding.folder });
        await this.session().refresh(finding.folder);
    }

    private async dismiss({ id, folder }: { id: string; folder?: string }): Promise<void> {
        const reason = await vscode.window.showInputBox({
            title: "Dismiss Finding",
            prompt: "Reason, in one line; later reviews show it",
            validateInput: validation(checkReason),
        });
        if (reason !== undefined) {
            const place = folder === undefined ? {} : { folder };
            await this.session().execute(SERVER_COMMANDS.dismiss, { finding: id, reason: required(checkReason(reason)), ...place });
            await this.session().refreshAll();
        }
    }

    /** The server opens the page by `window/showDocument`, which the middleware restricts to https. */
    private async openThread(finding: FolderFinding): Promise<void> {
        await this.session().execute(SERVER_COMMANDS.openThread, { finding: finding.id, folder: finding.folder });
    }

    /** Shows the page of a rule: that of a tree's node, or one that the user names. */
    private async explainRule(argument: unknown): Promise<void> {
        const { rule: given, folder } = (argument as { finding?: { rule?: unknown; folder?: unknown } } | null | undefined)?.finding ?? {};
        const text =
            typeof given === "string" && given !== ""
                ? given
                : await vscode.window.showInputBox({
                      title: "Explain Rule",
                      prompt: "Id of the rule, for instance go/defer-in-loop",
                      validateInput: validation(checkRule),
                  });
        if (text === undefined) {
            return;
        }
        const rule = required(checkRule(text));
        const place = typeof folder === "string" ? { folder } : {};
        const page = (await this.session().execute(SERVER_COMMANDS.explainRule, { rule, ...place })) as { text?: unknown } | null;
        if (typeof page?.text !== "string") {
            throw new ProtocolError("explanation");
        }
        await this.documents.show(`${rule}.txt`, plainLines(page.text));
    }
}

function required(checked: { value: string } | { problem: string }): string {
    if ("problem" in checked) {
        throw new Error(checked.problem);
    }
    return checked.value;
}

/** The folder to review: the only one, or the one that the user chooses. */
async function chooseFolder(): Promise<vscode.WorkspaceFolder | undefined> {
    const folders = vscode.workspace.workspaceFolders ?? [];
    if (folders.length === 0) {
        throw new Error("No folder is open. Open the folder of a git repository.");
    }
    return folders.length === 1 ? folders[0] : await vscode.window.showWorkspaceFolderPick({ placeHolder: "Folder to review" });
}

