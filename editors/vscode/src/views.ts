/** The tree of findings, the status bar's entry and the read-only documents. */
import * as vscode from "vscode";

import type { Severity } from "./protocol";
import type { FindingNode, ReviewState, TreeNode } from "./state";

export const DETAILS_SCHEME = "review-details";

const ICONS: Record<Severity, [icon: string, color: string]> = {
    critical: ["error", "problemsErrorIcon.foreground"],
    high: ["error", "problemsErrorIcon.foreground"],
    medium: ["warning", "problemsWarningIcon.foreground"],
    low: ["info", "problemsInfoIcon.foreground"],
    nit: ["circle-small", "problemsInfoIcon.foreground"],
};

function icon(severity: Severity): vscode.ThemeIcon {
    const [name, color] = ICONS[severity];
    return new vscode.ThemeIcon(name, new vscode.ThemeColor(color));
}

export class FindingsTree implements vscode.TreeDataProvider<TreeNode> {
    private readonly emitter = new vscode.EventEmitter<undefined>();
    readonly onDidChangeTreeData = this.emitter.event;

    constructor(private readonly state: ReviewState) {}

    refresh(): void {
        this.emitter.fire(undefined);
    }

    getChildren(node?: TreeNode): TreeNode[] {
        switch (node?.kind) {
            case undefined:
                return this.state.tree();
            case "severity":
                return node.files;
            case "file":
                return node.findings;
            case "finding":
                return [];
        }
    }

    getTreeItem(node: TreeNode): vscode.TreeItem {
        if (node.kind === "finding") {
            return findingItem(node);
        }
        if (node.kind === "severity") {
            const item = new vscode.TreeItem(node.severity, vscode.TreeItemCollapsibleState.Expanded);
            item.id = node.severity;
            item.description = String(node.count);
            item.iconPath = icon(node.severity);
            item.contextValue = "severity";
            return item;
        }
        const item = new vscode.TreeItem(node.label, vscode.TreeItemCollapsibleState.Expanded);
        item.id = node.key;
        item.description = String(node.findings.length);
        item.iconPath = vscode.ThemeIcon.File;
        item.resourceUri = vscode.Uri.parse(node.uri);
        item.contextValue = "file";
        return item;
    }
}

function findingItem(node: FindingNode): vscode.TreeItem {
    const { finding } = node;
    const item = new vscode.TreeItem(finding.title, vscode.TreeItemCollapsibleState.None);
    item.description = [`line ${String(finding.start.line + 1)}`, finding.category, finding.rule || finding.origin].filter((part) => part !== "").join(" · ");
    item.iconPath = icon(finding.severity);
    item.contextValue = finding.rule === "" ? "finding" : "finding.rule";
    item.command = { command: "reviewTool.showFinding", title: "Show Finding", arguments: [node] };
    // Not a Markdown string with rights: no commands, no HTML.
    const tooltip = new vscode.MarkdownString();
    tooltip.isTrusted = false;
    tooltip.supportHtml = false;
    if (finding.body === "") {
        tooltip.appendText(finding.title);
    } else {
        tooltip.appendMarkdown(finding.body);
    }
    item.tooltip = tooltip;
    return item;
}

/** Texts of the server as read-only documents. They are shown as source: a preview could load what they mention. */
export class DetailDocuments implements vscode.TextDocumentContentProvider {
    private readonly texts = new Map<string, string>();
    private readonly emitter = new vscode.EventEmitter<vscode.Uri>();
    readonly onDidChange = this.emitter.event;

    provideTextDocumentContent(uri: vscode.Uri): string {
        return this.texts.get(uri.path) ?? "This text is not available any more.";
    }

    async show(name: string, text: string): Promise<void> {
        const uri = vscode.Uri.from({ scheme: DETAILS_SCHEME, path: `/${name}` });
        this.texts.delete(uri.path);
        this.texts.set(uri.path, text);
        for (const oldest of [...this.texts.keys()].slice(0, -50)) {
            this.texts.delete(oldest);
        }
        this.emitter.fire(uri);
        await vscode.window.showTextDocument(uri, { preview: true });
    }
}

export class StatusItem implements vscode.Disposable {
    private readonly item = vscode.window.createStatusBarItem("reviewTool.status", vscode.StatusBarAlignment.Left);

    constructor(private readonly state: ReviewState) {
        this.item.name = "Review";
        this.item.show();
        this.refresh();
    }

    refresh(): void {
        const view = this.state.status();
        this.item.text = view.text;
        this.item.tooltip = view.tooltip;
        this.item.command = this.state.server.state === "stopped" ? "reviewTool.restart" : "reviewTool.findings.focus";
        this.item.backgroundColor = view.level === "normal" ? undefined : new vscode.ThemeColor(`statusBarItem.${view.level}Background`);
    }

    dispose(): void {
        this.item.dispose();
    }
}
