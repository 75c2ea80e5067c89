/**
 * A small language server that speaks as `review lsp` does: one finding on the second line of the first file that is opened, a hover, a code action
 * and the commands. `REVIEW_SCRIPT` chooses how it misbehaves, `REVIEW_TRANSCRIPT` names a file for the messages that it receives.
 */
import { appendFileSync } from "node:fs";

type Json = Record<string, unknown>;

const script = process.env.REVIEW_SCRIPT ?? "";
const COMMANDS = ["start", "cancel", "dismiss", "apply", "explainRule", "openThread"].map((name) => `review.${name}`);
const LINE = { start: { line: 1, character: 0 }, end: { line: 1, character: 1_000 } };
const HOSTILE = "![x](https://h.example/p.png) [run](command:workbench.action.quit) [page](https://h.example/)";

if (process.argv[2] !== "lsp") {
    process.stderr.write("error: unrecognized subcommand\n");
    process.exit(2);
}
if (process.argv[3] === "--help") {
    process.exit(script === "old" ? 2 : 0);
}

let folders: string[] = [];
let opened: string | undefined;
let dismissed = false;

function send(message: Json): void {
    const body = JSON.stringify({ jsonrpc: "2.0", ...message });
    process.stdout.write(`Content-Length: ${String(Buffer.byteLength(body))}\r\n\r\n${body}`);
}

function file(): string {
    return opened ?? `${folders[0] ?? "file:///nowhere"}/example.py`;
}

function status(state: string, extra: Json): void {
    for (const folder of folders) {
        send({ method: "review/status", params: { state, folder, ...extra } });
    }
}

function finished(outcome = "complete"): void {
    const high = dismissed ? 0 : 1;
    status("idle", { run: "run-1", outcome, clean: outcome === "complete" && high === 0, counts: { critical: 0, high, medium: 0, low: 0 }, costUsd: 0.12 });
}

function body(): string {
    return script === "hostile" ? HOSTILE : "The second line is wrong. See [CWE-252](https://cwe.example/252).";
}

function findings(): Json[] {
    const finding = { id: "3787e92af018", title: "Scripted finding", severity: "high", category: "logic", origin: "rule", rule: "go/defer-in-loop" };
    return dismissed ? [] : [{ ...finding, uri: file(), range: LINE, prominence: "main", body: body() }];
}

function publish(): void {
    const code = { code: "go/defer-in-loop", codeDescription: { href: script === "hostile" ? "file:///etc/passwd" : "https://rules.example/" } };
    const diagnostic = { range: LINE, severity: 2, source: "review", message: "Scripted finding", ...code };
    send({ method: "textDocument/publishDiagnostics", params: { uri: file(), diagnostics: dismissed ? [] : [diagnostic] } });
}

function execute(command: unknown, argument: Json): unknown {
    switch (command) {
        case "review.start":
            send({ id: "p", method: "window/workDoneProgress/create", params: { token: "t" } });
            send({ method: "$/progress", params: { token: "t", value: { kind: "begin", title: "Review", cancellable: true } } });
            status("running", { run: "run-1" });
            if (script === "slow") {
                return { run: "run-1" };
            }
            send({ method: "$/progress", params: { token: "t", value: { kind: "end" } } });
            finished();
            return { run: "run-1" };
        case "review.cancel":
            finished("cancelled");
            return null;
        case "review.dismiss":
            if (typeof argument.reason !== "string") {
                throw new Error("a reason is required");
            }
            dismissed = true;
            publish();
            finished();
            return null;
        case "review.explainRule":
            return { rule: argument.rule, text: `# ${String(argument.rule)}

A deferred call in a loop runs only when the function returns.` };
        case "review.openThread": {
            const uri = script === "hostile" ? "http://h.example/" : "https://forge.example/owner/repo/pull/12#discussion_r1";
            send({ id: "d", method: "window/showDocument", params: { uri, external: true } });
            return { url: uri };
        }
        case "review.apply": {
            const uri = script === "hostile" ? "file:///etc/passwd" : file();
            const edit = { changes: { [uri]: [{ range: LINE, newText: "fixed" }] } };
            send({ id: "e", method: "workspace/applyEdit", params: { edit } });
            return { applied: true };
        }
        default:
            return null;
    }
}

function handle(method: string, params: Json): unknown {
    switch (method) {
        case "initialize": {
            const given = params.workspaceFolders;
            folders = Array.isArray(given) ? given.map((folder: { uri: string }) => folder.uri) : [String(params.rootUri)];
            if (script === "dies early") {
                process.exit(3);
            }
            const codeActionProvider = { codeActionKinds: ["quickfix"] };
            const sync = { openClose: true, change: 1 };
            const executeCommandProvider = { commands: COMMANDS };
            return { capabilities: { textDocumentSync: sync, hoverProvider: true, codeActionProvider, executeCommandProvider } };
        }
        case "initialized":
            finished(script === "incomplete" ? "budget" : "complete");
            if (script === "hostile") {
                send({ method: "window/showMessage", params: { type: 3, message: HOSTILE } });
            }
            if (script === "dies") {
                setTimeout(() => process.exit(3), 50);
            }
            return null;
        case "textDocument/didOpen":
            opened ??= (params.textDocument as { uri: string }).uri;
            publish();
            return null;
        case "textDocument/hover":
            return { contents: { kind: "markdown", value: body() } };
        case "textDocument/codeAction": {
            const argument = { finding: "3787e92af018" };
            const action = (title: string, command: string): Json => ({ title, kind: "quickfix", command: { title, command, arguments: [argument] } });
            const bad = action("Bad", "workbench.action.quit");
            return [action("Apply the suggestion", "review.apply"), action("Dismiss this finding", "review.dismiss"), ...(script === "hostile" ? [bad] : [])];
        }
        case "review/findings":
            return script === "malformed" ? { findings: [{ id: 7 }] } : { run: "run-1", findings: findings() };
        case "workspace/executeCommand":
            return execute(params.command, ((params.arguments as unknown[] | undefined)?.[0] ?? {}) as Json);
        case "exit":
            return process.exit(0);
        default:
            return null;
    }
}

let buffer = Buffer.alloc(0);
process.stdin.on("data", (bytes: Buffer) => {
    buffer = Buffer.concat([buffer, bytes]);
    for (;;) {
        const end = buffer.indexOf("\r\n\r\n");
        const length = Number(/Content-Length: (\d+)/i.exec(buffer.subarray(0, Math.max(end, 0)).toString())?.[1]);
        if (end < 0 || buffer.length < end + 4 + length) {
            return;
        }
        const text = buffer.subarray(end + 4, end + 4 + length).toString();
        buffer = buffer.subarray(end + 4 + length);
        const transcript = process.env.REVIEW_TRANSCRIPT;
        if (transcript !== undefined) {
            appendFileSync(transcript, `${text}\n`);
        }
        const message = JSON.parse(text) as { id?: unknown; method?: string; params?: Json };
        if (message.method !== undefined) {
            try {
                const result = handle(message.method, message.params ?? {});
                if (message.id !== undefined) {
                    send({ id: message.id, result });
                }
            } catch (error) {
                send({ id: message.id, error: { code: -32602, message: String(error) } });
            }
        }
    }
});
process.stdin.on("end", () => process.exit(0));
