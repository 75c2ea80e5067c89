/** Checks of whatever a user types or another extension passes, before it is sent to the server. */

/** A value that can be sent, or the sentence that says why not. */
export type Checked = { value: string } | { problem: string };

const LONGEST_REASON = 500;

/** A pull request as `review --pr` takes it: its number, `owner/repo#12`, or the address of its page. */
export function checkPullRequest(text: string): Checked {
    const value = text.trim();
    const number = /^#?([1-9][0-9]{0,9})$/.exec(value)?.[1];
    if (number !== undefined) {
        return { value: number };
    }
    if (/^[\w.-]{1,100}\/[\w.-]{1,100}#[1-9][0-9]{0,9}$/.test(value)) {
        return { value };
    }
    const url = value.length <= 2_000 && URL.canParse(value) ? new URL(value) : undefined;
    const page = url && /^\/[\w.-]+\/[\w.-]+\/pull\/[1-9][0-9]{0,9}(?=\/|$)/.exec(url.pathname)?.[0];
    if (url?.protocol === "https:" && page && url.username === "" && url.password === "") {
        return { value: `https://${url.host}${page}` };
    }
    return { problem: "Enter a number (12), owner/repo#12, or the https address of a pull request." };
}

/** The reason of a dismissal: one line. */
export function checkReason(text: string): Checked {
    const value = text.trim();
    if (value === "") {
        return { problem: "Enter a reason. Later reviews show it." };
    }
    if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(value)) {
        return { problem: "The reason must be one line." };
    }
    return value.length > LONGEST_REASON ? { problem: `The reason has more than ${String(LONGEST_REASON)} characters. Shorten it.` } : { value };
}

/** The id of a rule, for instance `go/defer-in-loop`. */
export function checkRule(text: string): Checked {
    const value = text.trim();
    return value.length <= 200 && /^\w[\w.-]*(\/\w[\w.-]*)*$/.test(value)
        ? { value }
        : { problem: "Enter the id of a rule, for instance go/defer-in-loop." };
}

/** The validation callback of VS Code's input box. */
export function validation(check: (text: string) => Checked): (text: string) => string | undefined {
    return (text) => {
        const checked = check(text);
        return "problem" in checked ? checked.problem : undefined;
    };
}
