/**
 * A stand-in for the module `vscode`: it records what is registered and shown, and answers dialogs with what a test prepared. The client
 * library asks for much more than the extension; names that are not here become empty classes.
 */
type Listener = (event: unknown) => unknown;

export class Disposable {
    constructor(readonly dispose: () => void = () => undefined) {}
    static from(...parts: { dispose: () => void }[]): Disposable {
        return new Disposable(() => {
            for (const part of parts) {
                part.dispose();
            }
        });
    }
}

export class EventEmitter {
    private readonly listeners = new Set<Listener>();
    readonly event = (listener: Listener, self?: unknown): Disposable => {
        const bound: Listener = (event) => listener.call(self, event);
        this.listeners.add(bound);
        return new Disposable(() => this.listeners.delete(bound));
    };
    fire(event: unknown): void {
        for (const listener of this.listeners) {
            listener(event);
        }
    }
    dispose(): void {
        this.listeners.clear();
    }
}

const never = new EventEmitter().event;

export class CancellationTokenSource {
    token = { isCancellationRequested: false, onCancellationRequested: never };
    cancel(): void {
        this.token.isCancellationRequested = true;
    }
    dispose(): void {
        this.cancel();
    }
}

export class Uri {
    private constructor(private readonly url: URL) {}
    static parse(text: string): Uri {
        return new Uri(new URL(text));
    }
    static file(path: string): Uri {
        return new Uri(new URL(`file://${encodeURI(path)}`));
    }
    static from(parts: { scheme: string; path: string }): Uri {
        return new Uri(new URL(`${parts.scheme}://${encodeURI(parts.path)}`));
    }
    get scheme(): string {
        return this.url.protocol.slice(0, -1);
    }
    get path(): string {
        return decodeURIComponent(this.url.pathname);
    }
    get fsPath(): string {
        return this.path;
    }
    toString(): string {
        return this.url.href;
    }
}

export class Position {
    constructor(
        readonly line: number,
        readonly character: number,
    ) {}
}

export class Range {
    readonly start: Position;
    readonly end: Position;
    constructor(...at: [Position, Position] | [number, number, number, number]) {
        this.start = at.length === 2 ? at[0] : new Position(at[0], at[1]);
        this.end = at.length === 2 ? at[1] : new Position(at[2], at[3]);
    }
}

export class MarkdownString {
    isTrusted: boolean | undefined;
    supportHtml: boolean | undefined;
    constructor(public value = "") {}
    appendText(text: string): this {
        this.value += text.replace(/[\\`*_{}[\]()#+\-!~]/g, "\\$&");
        return this;
    }
    appendMarkdown(text: string): this {
        this.value += text;
        return this;
    }
}

export class Diagnostic {
    source: string | undefined;
    code: unknown;
    constructor(
        readonly range: Range,
        public message: string,
        public severity: number,
    ) {}
}

export class Hover {
    readonly contents: unknown[];
    constructor(contents: unknown) {
        this.contents = Array.isArray(contents) ? contents : [contents];
    }
}

export class CodeAction {
    command: { command: string; arguments: unknown[] } | undefined;
    constructor(readonly title: string) {}
}

export class WorkspaceEdit {
    readonly files: string[] = [];
    entries(): [Uri, unknown[]][] {
        return this.files.map((file) => [Uri.parse(file), []]);
    }
    set(uri: Uri): void {
        this.files.push(uri.toString());
    }
}

export class ThemeColor {
    constructor(readonly id: string) {}
}

export class ThemeIcon {
    static readonly File = new ThemeIcon("file");
    constructor(readonly id: string) {}
}

export class TreeItem {
    constructor(
        readonly label: string,
        readonly collapsibleState: number,
    ) {}
}

export const version = "1.91.0";

/** Everything that tests prepare and look at. */
export const editor = {
    /** The messages that were shown, with the buttons. */
    messages: [] as { kind: string; text: string; buttons: string[] }[],
    /** What the input boxes, quick picks and folder picks return, in order. */
    answers: [] as unknown[],
    /** Chooses the button of a message. */
    choose: (() => undefined) as (text: string, buttons: unknown[]) => unknown,
    commands: new Map<string, (...args: unknown[]) => unknown>(),
    executed: [] as [string, ...unknown[]][],
    context: new Map<string, unknown>(),
    diagnostics: new Map<string, Diagnostic[]>(),
    opened: [] as string[],
    external: [] as string[],
    edits: [] as string[],
    hover: undefined as { provideHover: (...args: unknown[]) => Promise<Hover | null> } | undefined,
    actions: undefined as { provideCodeActions: (...args: unknown[]) => Promise<CodeAction[]> } | undefined,
    documents: undefined as { provideTextDocumentContent: (uri: Uri) => string } | undefined,
    tree: undefined as { getChildren: (node?: unknown) => unknown[]; getTreeItem: (node: unknown) => unknown } | undefined,
    view: { message: undefined as string | undefined, dispose: () => undefined },
    status: { text: "", tooltip: "", command: "", name: "", show: () => undefined, dispose: () => undefined },
    log: [] as string[],
    settings: {} as Record<string, { defaultValue?: unknown; globalValue?: unknown; workspaceValue?: unknown }>,
    foldersChanged: new EventEmitter(),
    settingsChanged: new EventEmitter(),
    documentOpened: new EventEmitter(),
};

function record(kind: string) {
    return (text: string, ...rest: unknown[]): Promise<unknown> => {
        const buttons = rest.filter((button) => typeof button === "string");
        editor.messages.push({ kind, text, buttons });
        return Promise.resolve(editor.choose(text, buttons));
    };
}

function write(...parts: unknown[]): void {
    editor.log.push(parts.map(String).join(" "));
}

const log = { logLevel: 3, onDidChangeLogLevel: never, show: write, dispose: () => undefined, append: write, appendLine: write };

export const window = {
    activeTextEditor: undefined,
    visibleTextEditors: [] as unknown[],
    tabGroups: { all: [], onDidChangeTabs: never, onDidChangeTabGroups: never },
    onDidChangeVisibleTextEditors: never,
    onDidChangeActiveTextEditor: never,
    createOutputChannel: () => ({ ...log, trace: write, debug: write, info: write, warn: write, error: write }),
    createStatusBarItem: () => editor.status,
    createTreeView: (_id: string, options: { treeDataProvider: typeof editor.tree }) => {
        editor.tree = options.treeDataProvider;
        return editor.view;
    },
    showErrorMessage: record("error"),
    showWarningMessage: record("warning"),
    showInformationMessage: record("information"),
    showInputBox: (options: { validateInput: (text: string) => string | undefined }) => {
        const answer = editor.answers.shift();
        const problem = typeof answer === "string" ? options.validateInput(answer) : undefined;
        // As an input box does: what is not valid cannot be entered.
        return Promise.resolve(problem === undefined ? answer : undefined);
    },
    showQuickPick: (items: unknown[]) => Promise.resolve(items[Number(editor.answers.shift())]),
    showWorkspaceFolderPick: () => Promise.resolve(workspace.workspaceFolders[Number(editor.answers.shift())]),
    showTextDocument: (uri: Uri) => {
        editor.opened.push(uri.toString());
        return Promise.resolve({});
    },
    withProgress: (_options: unknown, task: (...args: unknown[]) => unknown) =>
        Promise.resolve(task({ report: () => undefined }, new CancellationTokenSource().token)),
};

export const workspace = {
    workspaceFolders: [] as { uri: Uri; name: string; index: number }[],
    textDocuments: [] as unknown[],
    notebookDocuments: [],
    getConfiguration: (section: string) => ({
        get: (_key: string, fallback?: unknown) => fallback,
        inspect: (key: string) => editor.settings[`${section}.${key}`],
    }),
    onDidChangeConfiguration: editor.settingsChanged.event,
    onDidChangeWorkspaceFolders: editor.foldersChanged.event,
    onDidOpenTextDocument: editor.documentOpened.event,
    registerTextDocumentContentProvider: (_scheme: string, provider: typeof editor.documents) => {
        editor.documents = provider;
        return new Disposable();
    },
    createFileSystemWatcher: () => ({ onDidCreate: never, onDidChange: never, onDidDelete: never, dispose: () => undefined }),
    applyEdit: (edit: WorkspaceEdit) => {
        editor.edits.push(...edit.files);
        return Promise.resolve(true);
    },
};

export const commands = {
    registerCommand: (name: string, run: (...args: unknown[]) => unknown) => {
        if (editor.commands.has(name)) {
            throw new Error(`command '${name}' already exists`);
        }
        editor.commands.set(name, run);
        return new Disposable(() => editor.commands.delete(name));
    },
    executeCommand: (name: string, ...args: unknown[]) => {
        if (name === "setContext") {
            editor.context.set(String(args[0]), args[1]);
            return Promise.resolve();
        }
        editor.executed.push([name, ...args]);
        return Promise.resolve(editor.commands.get(name)?.(...args));
    },
};

export const languages = {
    match: () => 10,
    createDiagnosticCollection: () => ({
        set: (uri: Uri, diagnostics: Diagnostic[]) => editor.diagnostics.set(uri.toString(), diagnostics),
        delete: (uri: Uri) => editor.diagnostics.delete(uri.toString()),
        clear: () => {
            editor.diagnostics.clear();
        },
        dispose: () => {
            editor.diagnostics.clear();
        },
    }),
    registerHoverProvider: (_selector: unknown, provider: typeof editor.hover) => {
        editor.hover = provider;
        return new Disposable();
    },
    registerCodeActionsProvider: (_selector: unknown, provider: typeof editor.actions) => {
        editor.actions = provider;
        return new Disposable();
    },
};

export const env = {
    appName: "stub",
    language: "en",
    openExternal: (uri: Uri) => {
        editor.external.push(uri.toString());
        return Promise.resolve(true);
    },
};

/** A class without members, whose own properties are numbers as those of an enumeration. */
function placeholder(): unknown {
    return new Proxy(class extends Object {}, { get: (target, key): unknown => (Reflect.has(target, key) ? Reflect.get(target, key) : 1) });
}

function withFallback(target: object, fallback: (key: string) => unknown): object {
    return new Proxy(target, {
        get: (own: Record<string, unknown>, key) => (typeof key === "symbol" ? undefined : (own[key] ??= fallback(key))),
    });
}

const known: Record<string, unknown> = { ...(exports as Record<string, unknown>), __esModule: true };
known.workspace = withFallback(workspace, (key) => (key.startsWith("on") ? never : undefined));
known.window = withFallback(window, (key) => (key.startsWith("on") ? never : undefined));
known.languages = withFallback(languages, (key) => (key.startsWith("register") ? () => new Disposable() : undefined));
module.exports = withFallback(known, (key) => (/^[A-Z]/.test(key) ? placeholder() : undefined));
