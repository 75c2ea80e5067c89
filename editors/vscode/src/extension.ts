/** The extension's parts, put together. */
import * as vscode from "vscode";

import { Commands } from "./commands";
import { Session } from "./session";
import { ReviewState } from "./state";
import { DETAILS_SCHEME, DetailDocuments, FindingsTree, StatusItem } from "./views";

let session: Session | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
    const state = new ReviewState();
    const log = vscode.window.createOutputChannel("Review", { log: true });
    const documents = new DetailDocuments();
    const tree = new FindingsTree(state);
    const view = vscode.window.createTreeView("reviewTool.findings", { treeDataProvider: tree, showCollapseAll: true });
    const status = new StatusItem(state);
    const changed = (): void => {
        status.refresh();
        tree.refresh();
        view.message = state.message() ?? "";
        void vscode.commands.executeCommand("setContext", "reviewTool.running", state.running().length > 0);
    };
    const readFolders = (): void => {
        state.setFolders((vscode.workspace.workspaceFolders ?? []).map(({ uri, name }) => ({ uri: uri.toString(), name })));
    };
    const commands: Commands = new Commands(state, () => running, documents, log);
    const running: Session = new Session(state, log, (command, args) => commands.runServerCommand(command, args), changed);
    session = running;
    readFolders();
    context.subscriptions.push(
        log,
        view,
        status,
        ...commands.register(),
        vscode.workspace.registerTextDocumentContentProvider(DETAILS_SCHEME, documents),
        vscode.workspace.onDidChangeWorkspaceFolders(() => {
            readFolders();
            changed();
            void running.refreshAll();
        }),
        vscode.workspace.onDidChangeConfiguration((event) => {
            if (event.affectsConfiguration("review.path")) {
                void running.restart();
            }
        }),
    );
    await running.start();
}

export async function deactivate(): Promise<void> {
    await session?.stop();
    session = undefined;
}
