/** The messages of `review lsp` beyond LSP, read from untrusted JSON. */
import { plain, safeMarkdown } from "./text";

export const SEVERITIES = ["critical", "high", "medium", "low", "nit"] as const;
export type Severity = (typeof SEVERITIES)[number];

/** The commands of the server. Those of the extension begin with `reviewTool.`, since the client registers these in VS Code as they are. */
export const SERVER_COMMANDS = {
    start: "review.start",
    cancel: "review.cancel",
    dismiss: "review.dismiss",
    apply: "review.apply",
    explainRule: "review.explainRule",
    openThread: "review.openThread",
} as const;

export const STATUS_METHOD = "review/status";
export const FINDINGS_METHOD = "review/findings";

/** The most findings of a folder that are shown; the tree says when there are more. */
export const FINDINGS_LIMIT = 2_000;

export interface Position {
    line: number;
    character: number;
}

export interface Finding {
    id: string;
    title: string;
    severity: Severity;
    category: string;
    origin: string;
    /** The rule's id, or empty for a finding of a model. */
    rule: string;
    uri: string;
    start: Position;
    end: Position;
    /** A finding of prominence `also`, which is shown after the others. */
    isSecondary: boolean;
    /** Markdown without images and without other than https links. */
    body: string;
}

/** The findings of one folder's latest run. */
export interface Findings {
    /** The run's id; nothing has been reviewed when it is absent. */
    run: string | undefined;
    findings: Finding[];
    /** The number of findings beyond the limit, which are not shown. */
    omitted: number;
}

export interface Status {
    folder: string;
    state: "idle" | "running" | "failed";
    run: string | undefined;
    /** The way the run ended, for instance `complete` or `incomplete`. */
    outcome: string;
    /** Whether the whole change was reviewed and nothing is left to do, left out or hidden. */
    clean: boolean;
    counts: Record<Severity, number>;
    costUsd: number | undefined;
    message: string;
}

/** A message of the server that is not as agreed. */
export class ProtocolError extends Error {
    constructor(part: string) {
        super(`The server's ${part} is not as this extension expects it. Update \`review\` and the extension.`);
    }
}

type Json = Record<string, unknown>;

function object(value: unknown, part: string): Json {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
        throw new ProtocolError(part);
    }
    return value as Json;
}

/** An identifier, which is sent back as it came: it is refused, not mended, when it is none. */
function identifier(value: unknown, part: string): string {
    if (typeof value !== "string" || !/^[\x21-\x7e]{1,200}$/.test(value)) {
        throw new ProtocolError(part);
    }
    return value;
}

function optionalIdentifier(value: unknown, part: string): string | undefined {
    return value === undefined || value === null ? undefined : identifier(value, part);
}

function uri(value: unknown, part: string): string {
    if (typeof value !== "string" || value.length > 8_000 || !URL.canParse(value)) {
        throw new ProtocolError(part);
    }
    return value;
}

function natural(value: unknown, part: string): number {
    if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0) {
        throw new ProtocolError(part);
    }
    return value;
}

function position(value: unknown): Position {
    const place = object(value, "range");
    return { line: natural(place.line, "range"), character: natural(place.character, "range") };
}

function finding(value: unknown): Finding {
    const json = object(value, "finding");
    const range = object(json.range, "range");
    return {
        id: identifier(json.id, "finding's id"),
        title: plain(json.title) || "(untitled)",
        // A severity that is unknown here is shown among the worst rather than hidden.
        severity: SEVERITIES.find((severity) => severity === json.severity) ?? "critical",
        category: plain(json.category, 60),
        origin: plain(json.origin, 100),
        rule: optionalIdentifier(json.rule, "rule") ?? "",
        uri: uri(json.uri, "finding's file"),
        start: position(range.start),
        end: position(range.end),
        isSecondary: json.prominence === "also",
        body: safeMarkdown(json.body),
    };
}

/** Reads the result of `review/findings`. A finding that cannot be read is an error: a list without it would look cleaner than it is. */
export function parseFindings(value: unknown): Findings {
    const json = object(value, "list of findings");
    const all: unknown = json.findings;
    if (!Array.isArray(all)) {
        throw new ProtocolError("list of findings");
    }
    const run = optionalIdentifier(json.run, "run");
    return { run, findings: all.slice(0, FINDINGS_LIMIT).map(finding), omitted: Math.max(0, all.length - FINDINGS_LIMIT) };
}

/** Reads the notification `review/status`. */
export function parseStatus(value: unknown): Status {
    const json = object(value, "status");
    const state = (["idle", "running", "failed"] as const).find((state) => state === json.state);
    if (state === undefined) {
        throw new ProtocolError("status");
    }
    const given = json.counts === undefined || json.counts === null ? {} : object(json.counts, "counts");
    const counts = { critical: 0, high: 0, medium: 0, low: 0, nit: 0 };
    for (const severity of SEVERITIES) {
        counts[severity] = given[severity] === undefined ? 0 : natural(given[severity], "counts");
    }
    const cost = json.costUsd;
    if (cost !== undefined && cost !== null && (typeof cost !== "number" || !Number.isFinite(cost) || cost < 0)) {
        throw new ProtocolError("cost");
    }
    return {
        folder: uri(json.folder, "folder"),
        state,
        run: optionalIdentifier(json.run, "run"),
        outcome: plain(json.outcome, 60),
        clean: json.clean === true,
        counts,
        costUsd: cost ?? undefined,
        message: plain(json.message),
    };
}
