/** The state of all folders, and what the status bar and the tree show of it. */
import { SEVERITIES, type Finding, type Findings, type Severity, type Status } from "./protocol";
import { counted } from "./text";

/** A folder of the workspace. */
export interface Folder {
    uri: string;
    name: string;
}

/** The state of the server's process. */
export type Server = { state: "starting" | "running" } | { state: "stopped"; problem: string };

export interface StatusView {
    text: string;
    tooltip: string;
    level: "normal" | "warning" | "error";
}

/** A finding with the folder that it belongs to. */
export interface FolderFinding extends Finding {
    folder: string;
    /** The file below its folder, or undefined if it is outside of every folder. */
    file: string | undefined;
}

export interface FileNode {
    kind: "file";
    key: string;
    label: string;
    uri: string;
    findings: FindingNode[];
}

export interface FindingNode {
    kind: "finding";
    finding: FolderFinding;
}

export interface SeverityNode {
    kind: "severity";
    severity: Severity;
    count: number;
    files: FileNode[];
}

export type TreeNode = SeverityNode | FileNode | FindingNode;

/** The URI without a slash at its end, so that two spellings of a folder are one. */
export function folderKey(uri: string): string {
    return uri.replace(/(?<=[^/:])\/+$/, "");
}

/** The path of a file below a folder, or undefined if it is elsewhere. */
export function pathBelow(folder: string, uri: string): string | undefined {
    if (!URL.canParse(uri) || !URL.canParse(folder)) {
        return undefined;
    }
    // The parser resolves `..` and `%2e%2e`; an encoded separator would become one only after the check.
    const [file, root] = [new URL(uri), new URL(folder)];
    const prefix = `${decoded(root.pathname)?.replace(/\/+$/, "") ?? ""}/`;
    const path = /%(2f|5c|00)/i.test(file.pathname) ? undefined : decoded(file.pathname);
    const isBelow = file.protocol === "file:" && root.protocol === "file:" && file.host === root.host && path?.startsWith(prefix);
    return isBelow && path !== undefined && path.length > prefix.length ? path.slice(prefix.length) : undefined;
}

function decoded(path: string): string | undefined {
    try {
        return decodeURIComponent(path);
    } catch {
        return undefined;
    }
}

export class ReviewState {
    server: Server = { state: "starting" };
    private folders: Folder[] = [];
    private readonly statuses = new Map<string, Status>();
    private readonly lists = new Map<string, Findings>();
    private readonly problems = new Map<string, string>();

    /** Sets the folders of the workspace; what is known of others is forgotten. */
    setFolders(folders: readonly Folder[]): void {
        this.folders = folders.map((folder) => ({ ...folder, uri: folderKey(folder.uri) }));
        const known = new Set(this.folders.map((folder) => folder.uri));
        for (const map of [this.statuses, this.lists, this.problems]) {
            for (const key of [...map.keys()].filter((key) => !known.has(key))) {
                map.delete(key);
            }
        }
    }

    /** Forgets everything that the server said: a server that died says nothing about the code any more. */
    clear(): void {
        this.statuses.clear();
        this.lists.clear();
        this.problems.clear();
    }

    /** Records a status; false if it is about a folder that is not open. */
    setStatus(status: Status): boolean {
        const key = folderKey(status.folder);
        const isOpen = this.folders.some((folder) => folder.uri === key);
        if (isOpen) {
            this.statuses.set(key, status);
        }
        return isOpen;
    }

    setFindings(folder: string, findings: Findings): void {
        this.lists.set(folderKey(folder), findings);
        this.problems.delete(folderKey(folder));
    }

    /** Records that the findings of a folder could not be read; old ones are not shown as if they were current. */
    setProblem(folder: string, problem: string): void {
        this.lists.delete(folderKey(folder));
        this.problems.set(folderKey(folder), problem);
    }

    /** The folders with a review that is running. */
    running(): Folder[] {
        return this.folders.filter((folder) => this.statuses.get(folder.uri)?.state === "running");
    }

    findings(): FolderFinding[] {
        const all = this.folders.flatMap(({ uri }) =>
            (this.lists.get(uri)?.findings ?? []).map((finding) => ({ ...finding, folder: uri, file: this.place(finding.uri) })),
        );
        return all.sort(
            (a, b) =>
                SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) ||
                compare(a.file ?? a.uri, b.file ?? b.uri) ||
                Number(a.isSecondary) - Number(b.isSecondary) ||
                a.start.line - b.start.line,
        );
    }

    /** The file's path for people, with the folder's name when there are several. */
    private place(uri: string): string | undefined {
        for (const folder of this.folders) {
            const path = pathBelow(folder.uri, uri);
            if (path !== undefined) {
                return this.folders.length > 1 ? `${folder.name}/${path}` : path;
            }
        }
        return undefined;
    }

    /** The findings by severity, then file. */
    tree(): SeverityNode[] {
        const findings = this.findings();
        return SEVERITIES.flatMap((severity) => {
            const own = findings.filter((finding) => finding.severity === severity);
            const files = new Map<string, FileNode>();
            for (const finding of own) {
                const label = finding.file ?? "(outside of the workspace)";
                const node = files.get(finding.uri) ?? { kind: "file", key: `${severity} ${finding.uri}`, label, uri: finding.uri, findings: [] };
                node.findings.push({ kind: "finding", finding });
                files.set(finding.uri, node);
            }
            return own.length === 0 ? [] : [{ kind: "severity", severity, count: own.length, files: [...files.values()] }];
        });
    }

    /** The sentence above the tree; undefined while nothing has been reviewed and nothing went wrong. */
    message(): string | undefined {
        if (this.server.state === "stopped") {
            return this.server.problem;
        }
        const lines = this.folders.flatMap((folder) => {
            const prefix = this.folders.length > 1 ? `${folder.name}: ` : "";
            return this.folderLines(folder.uri).map((line) => prefix + line);
        });
        return lines.length === 0 ? undefined : lines.join("\n");
    }

    private folderLines(uri: string): string[] {
        const [status, list, problem] = [this.statuses.get(uri), this.lists.get(uri), this.problems.get(uri)];
        const lines: string[] = [];
        if (problem !== undefined) {
            lines.push(problem);
        }
        if (status?.state === "running") {
            lines.push("A review is running.");
        } else if (status?.state === "failed") {
            lines.push(`The review failed${status.message === "" ? "." : `: ${status.message}`}`);
        } else if (status?.run !== undefined && !isComplete(status)) {
            lines.push(`The review is not complete${status.outcome === "" ? "" : ` (${status.outcome})`}. ${status.message}`.trim());
        } else if (status?.run !== undefined && list?.findings.length === 0 && total(status.counts) === 0) {
            lines.push(`The review is complete: no findings${status.clean ? "." : ", but not everything was reviewed: see `review show last`."}`);
        }
        if (list !== undefined && list.omitted > 0) {
            lines.push(`${counted(list.omitted, "more finding")} not shown: there are too many. See \`review show last\`.`);
        }
        return lines;
    }

    /** The status bar's entry. A check mark only for clean reviews of all folders. */
    status(): StatusView {
        if (this.server.state === "stopped") {
            return { text: "$(error) Review: stopped", tooltip: `${this.server.problem} Click to restart.`, level: "error" };
        }
        if (this.server.state === "starting") {
            return { text: "$(loading~spin) Review", tooltip: "The language server is starting.", level: "normal" };
        }
        const statuses = [...this.statuses.values()];
        const active = statuses.filter((status) => status.run !== undefined || status.state !== "idle");
        if (active.length === 0 && this.problems.size === 0) {
            return { text: "$(checklist) Review", tooltip: "Nothing has been reviewed yet.", level: "normal" };
        }
        const view = this.verdict(active);
        const spend = cost(active);
        const lines = this.folders.flatMap((folder) => {
            const status = this.statuses.get(folder.uri);
            return status === undefined ? [] : [folderSummary(folder, status)];
        });
        const problems = [...this.problems.values()];
        return { ...view, text: spend === undefined ? view.text : `${view.text} · ${spend}`, tooltip: [...lines, ...problems].join("\n") };
    }

    private verdict(active: readonly Status[]): Omit<StatusView, "tooltip"> {
        const counts = sum(active);
        const shown = total(counts) === 0 ? "" : ` · ${countsText(counts)}`;
        if (active.some((status) => status.state === "running")) {
            return { text: `$(sync~spin) Review: running${shown}`, level: "normal" };
        }
        if (active.some((status) => status.state === "failed")) {
            return { text: `$(error) Review: failed${shown}`, level: "error" };
        }
        if (this.problems.size > 0) {
            return { text: `$(error) Review: findings unavailable${shown}`, level: "error" };
        }
        if (!active.every(isComplete)) {
            return { text: `$(warning) Review: incomplete${shown}`, level: "warning" };
        }
        if (total(counts) > 0) {
            return { text: `$(warning) Review: ${countsText(counts)}`, level: "normal" };
        }
        // A pass is one of every open folder.
        const isClean = active.length >= this.folders.length && active.every((status) => status.clean);
        return { text: `$(${isClean ? "check" : "checklist"}) Review: no findings`, level: "normal" };
    }
}

/** A review that ended as it should. Anything else, an unknown word too, is not complete. */
function isComplete(status: Status): boolean {
    return status.state === "idle" && status.run !== undefined && status.outcome === "complete";
}

function sum(statuses: readonly Status[]): Record<Severity, number> {
    const counts = { critical: 0, high: 0, medium: 0, low: 0, nit: 0 };
    for (const severity of SEVERITIES) {
        counts[severity] = statuses.reduce((count, status) => count + status.counts[severity], 0);
    }
    return counts;
}

function total(counts: Record<Severity, number>): number {
    return SEVERITIES.reduce((count, severity) => count + counts[severity], 0);
}

function countsText(counts: Record<Severity, number>): string {
    return SEVERITIES.filter((severity) => counts[severity] > 0)
        .map((severity) => `${String(counts[severity])} ${severity}`)
        .join(", ");
}

/** The spend of all runs; an unknown figure is never shown as zero. */
function cost(statuses: readonly Status[]): string | undefined {
    const known = statuses.flatMap((status) => (status.costUsd === undefined ? [] : [status.costUsd]));
    if (known.length === 0) {
        return undefined;
    }
    return (known.length < statuses.length ? "at least " : "") + dollars(known.reduce((spent, one) => spent + one, 0));
}

export function dollars(amount: number): string {
    return amount > 0 && amount < 0.01 ? "<$0.01" : `$${amount.toFixed(2)}`;
}

function folderSummary(folder: Folder, status: Status): string {
    const counts = countsText(status.counts);
    const parts = [status.state === "idle" && status.run !== undefined ? status.outcome || "outcome unknown" : status.state];
    if (status.run !== undefined) {
        parts.push(counts === "" ? "no findings" : counts, status.costUsd === undefined ? "cost unknown" : `cost ${dollars(status.costUsd)}`);
    }
    return `${folder.name}: ${parts.join(" · ")}${status.message === "" ? "" : ` — ${status.message}`}`;
}

function compare(a: string, b: string): number {
    return a < b ? -1 : a > b ? 1 : 0;
}
