/** Rules for strings of the server before they are shown: bounded, without invisible characters, without active Markdown. */

/** An invisible character that separates the two characters that would begin a link or an image. */
const JOINER = "\u2060";

/** Shortens a string to a number of characters, with a mark when something was cut. */
function cut(text: string, limit: number): string {
    return text.length <= limit ? text : `${text.slice(0, limit)}…`;
}

/**
 * One line of plain text. VS Code makes links of `[text](target)` in notifications, commands among them, so that such a target is separated
 * from its text.
 */
export function plain(text: unknown, limit = 300): string {
    const line = typeof text === "string" ? text : "";
    return cut(line.replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " ").replace(/\p{Cf}/gu, "").trim(), limit).replaceAll("](", `]${JOINER}(`);
}

/** Lines of plain text, for a read-only document. */
export function plainLines(text: unknown, limit = 100_000): string {
    const lines = typeof text === "string" ? text : "";
    return cut(lines.replace(/\r\n?/g, "\n").replace(/[^\P{Cc}\n\t]|\p{Cf}/gu, ""), limit);
}

/**
 * Markdown without images, and without links other than `[text](https://…)`. An invisible character is put inside of whatever would begin
 * one; code looks the same as before. A parser could be led to see code where VS Code sees an image, so that code is treated alike.
 */
export function safeMarkdown(text: unknown, limit = 20_000): string {
    return plainLines(text, limit)
        .replaceAll("![", `!${JOINER}[`)
        .replace(/\](?=[(:])(?!\(https:\/\/[^\s<>()\\]+[\s)])/gi, `]${JOINER}`)
        .replace(/<(?!https:\/\/)(?=[a-z][a-z0-9+.-]*[:@])/gi, `<${JOINER}`)
        .replace(/\b(http|ftp)(?=:\/\/)/gi, `$1${JOINER}`)
        .replace(/\b(www)(?=\.)/gi, `$1${JOINER}`)
        .replace(/@(?=[\p{L}\p{N}])/gu, `@${JOINER}`);
}

/** The address as VS Code may open it: https with a host, without credentials; otherwise nothing. */
export function httpsUrl(text: unknown): string | undefined {
    if (typeof text !== "string" || text.length > 2_000 || !URL.canParse(text)) {
        return undefined;
    }
    const url = new URL(text);
    return url.protocol === "https:" && url.hostname !== "" && url.username === "" && url.password === "" ? url.href : undefined;
}

/** A count with its noun: `1 finding`, `2 findings`. */
export function counted(count: number, noun: string): string {
    return `${String(count)} ${noun}${count === 1 ? "" : "s"}`;
}
