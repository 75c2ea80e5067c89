/** The client's middleware: what the server says is shown as text, and can open, edit and run only what belongs to a review. */
import * as vscode from "vscode";
import type { Middleware } from "vscode-languageclient/node";

import { SERVER_COMMANDS } from "./protocol";
import { pathBelow } from "./state";
import { httpsUrl, plain, safeMarkdown } from "./text";

const DIAGNOSTICS_LIMIT = 1_000;

/** True for a file below one of the workspace's folders. */
export function isInWorkspace(uri: vscode.Uri): boolean {
    return (vscode.workspace.workspaceFolders ?? []).some((folder) => pathBelow(folder.uri.toString(), uri.toString()) !== undefined);
}

function isServerCommand(command: string): boolean {
    return Object.values<string>(SERVER_COMMANDS).includes(command);
}

function safeDiagnostic(diagnostic: vscode.Diagnostic): vscode.Diagnostic {
    diagnostic.message = plain(diagnostic.message, 2_000);
    diagnostic.source = plain(diagnostic.source, 60);
    const code = diagnostic.code;
    if (typeof code === "object" && httpsUrl(code.target.toString(true)) === undefined) {
        diagnostic.code = code.value;
    }
    return diagnostic;
}

function safeDiagnostics(diagnostics: vscode.Diagnostic[]): vscode.Diagnostic[] {
    return diagnostics.slice(0, DIAGNOSTICS_LIMIT).map(safeDiagnostic);
}

/** The same for a report that the client asked for; one without changes has no items. */
function safeReport<T extends object>(report: T): T {
    const { items } = report as { items?: vscode.Diagnostic[] };
    return items === undefined ? report : { ...report, items: safeDiagnostics(items) };
}

function safeHover(hover: vscode.Hover): vscode.Hover {
    const contents = hover.contents.map((content) => {
        const markdown = new vscode.MarkdownString(safeMarkdown(typeof content === "string" ? content : (content as { value: string }).value));
        markdown.isTrusted = false;
        markdown.supportHtml = false;
        return markdown;
    });
    return new vscode.Hover(contents, hover.range);
}

/** The action if it runs only commands of the server and edits only files of the workspace. */
function safeAction<T extends vscode.CodeAction | vscode.Command>(action: T): T | undefined {
    const command = "command" in action && typeof action.command === "string" ? action.command : (action as vscode.CodeAction).command?.command;
    const edit = (action as vscode.CodeAction).edit;
    const isSafe =
        (command === undefined || isServerCommand(command)) && (edit === undefined || edit.entries().every(([uri]) => isInWorkspace(uri)));
    if (isSafe && edit !== undefined) {
        (action as vscode.CodeAction).edit = textEdits(edit);
    }
    return isSafe ? action : undefined;
}

/** The text edits of an edit alone: the server never creates, renames or deletes files, and `entries` does not show such operations. */
function textEdits(edit: vscode.WorkspaceEdit): vscode.WorkspaceEdit {
    const safe = new vscode.WorkspaceEdit();
    for (const [uri, edits] of edit.entries()) {
        safe.set(uri, edits);
    }
    return safe;
}

/** The middleware; commands of code actions go to `run`, which asks for what they lack. */
export function middleware(run: (command: string, args: unknown[]) => Promise<unknown>): Middleware {
    return {
        executeCommand: (command, args: unknown[]) => run(command, args),
        handleDiagnostics: (uri, diagnostics, next) => {
            next(uri, safeDiagnostics(diagnostics));
        },
        provideDiagnostics: async (document, previous, token, next) => {
            const report = await next(document, previous, token);
            return report && safeReport(report);
        },
        provideWorkspaceDiagnostics: (previous, token, reporter, next) =>
            next(previous, token, (chunk) => {
                reporter(chunk && { items: chunk.items.map(safeReport) });
            }),
        provideHover: async (document, position, token, next) => {
            const hover = await next(document, position, token);
            return hover ? safeHover(hover) : hover;
        },
        provideCodeActions: async (document, range, context, token, next) => {
            const actions = await next(document, range, context, token);
            return actions?.flatMap((action) => safeAction(action) ?? []);
        },
        resolveCodeAction: async (action, token, next) => {
            const resolved = await next(action, token);
            // An action without anything to do is what is left of one that reaches elsewhere.
            return resolved && (safeAction(resolved) ?? new vscode.CodeAction(plain(action.title)));
        },
        handleWorkDoneProgress: (token, params, next) => {
            const shown = "message" in params ? { ...params, message: plain(params.message, 120) } : params;
            next(token, "title" in shown ? { ...shown, title: plain(shown.title, 120) } : shown);
        },
        workspace: {
            handleApplyEdit: async (params, next) => {
                const { documentChanges, changes } = params.edit;
                if ((documentChanges ?? []).some((change) => "kind" in change)) {
                    return { applied: false, failureReason: "The edit creates, renames or deletes files." };
                }
                const uris = (documentChanges ?? []).flatMap((change) => ("textDocument" in change ? [change.textDocument.uri] : []));
                const outside = [...uris, ...Object.keys(changes ?? {})].filter((uri) => !isInWorkspace(vscode.Uri.parse(uri)));
                return outside.length === 0
                    ? await next(params, new vscode.CancellationTokenSource().token)
                    : { applied: false, failureReason: "The edit touches files outside of the workspace." };
            },
        },
        window: {
            showDocument: async (params, token, next) => {
                const isAllowed =
                    params.external === true ? httpsUrl(params.uri) !== undefined : isInWorkspace(vscode.Uri.parse(params.uri));
                // VS Code itself asks before it opens an external address.
                return isAllowed ? await next(params, token) : { success: false };
            },
        },
    };
}
