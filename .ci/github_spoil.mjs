// Requests and answers made worse, each of which must be refused. Main functions: `spoiledRest`, `spoiledGraph`, `spoiledAnswers`.
//
// Each kind of place is spoiled once: `done` remembers which were.

const copy = (value) => JSON.parse(JSON.stringify(value));
// A list of lists of numbers is nothing that a text, a number or an object can be.
const other = (value) => (value !== null && typeof value === "object" ? 7 : [[7]]);

// Every place in a value: its path and what is there.
function* places(value, at = []) {
  yield [at, value];
  if (value === null || typeof value !== "object") return;
  for (const [key, one] of Object.entries(value)) yield* places(one, [...at, key]);
}

function changed(whole, at, change) {
  whole = copy(whole);
  let holder = whole;
  for (const key of at.slice(0, -1)) holder = holder[key];
  change(holder, at.at(-1));
  return whole;
}

const spelled = (at) => at.map((key) => (/^\d+$/.test(key) ? "*" : key)).join(".");

function once(done, ...words) {
  const key = words.join(" | ");
  if (done.has(key)) return false;
  done.add(key);
  return true;
}

// Keys of bodies that GitHub cannot do without.
const REQUIRED = { "comments.*.path": true, "comments.*.body": true, message: true };

export function* spoiledRest(request, name, done) {
  const make = (what, change) => [what, Object.assign(copy(request), change)];
  if (once(done, name, "once")) {
    yield make("another method", { method: "TRACE" });
    yield make("a path too long", { path: `${request.path}/nothing/such` });
    yield make("a parameter too many", { query: `${request.query}&no_such=1` });
    yield make("a parameter twice", { query: "page=1&page=2" });
    yield make("a secret in its query", { query: "q=ghp_0123456789" });
    yield make("a secret in a header's place", { headers: [...request.headers, "Authorization: x"] });
    for (const header of ["user-agent", "accept", "x-github-api-version"]) yield make(`no ${header}`, { headers: request.headers.filter((one) => one !== header) });
    if (request.method !== "GET") yield make("no authorization", { headers: request.headers.filter((one) => one !== "authorization") });
    if (/\/(pulls|issues)\/\d+/.test(request.path)) yield make("a word for a number", { path: request.path.replace(/\/(pulls|issues)\/\d+/, "/$1/seven") });
    if (["GET", "DELETE"].includes(request.method)) yield make("a body", { body: {} });
    if (/[?&]?per_page=/.test(request.query)) yield make("a word for a page's length", { query: request.query.replace(/per_page=\d+/, "per_page=all") });
    if (/sort=/.test(request.query)) yield make("an order that is none", { query: request.query.replace(/sort=\w+/, "sort=none") });
  }
  if (request.body === null) return;
  for (const [at, value] of places(request.body)) {
    const kind = spelled(at);
    const put = (what, change) => make(what, { body: at.length ? changed(request.body, at, change) : change(copy(request.body)) });
    if (value !== null && typeof value === "object" && !Array.isArray(value) && once(done, name, "key", kind))
      yield make(`${kind || "the body"} with a key too many`, { body: changed({ body: request.body }, ["body", ...at], (holder, key) => (holder[key].no_such_key = 1)).body });
    if (!at.length) continue;
    if (once(done, name, "type", kind)) yield put(`${kind} of another type`, (holder, key) => (holder[key] = other(value)));
    if (typeof value === "string" && once(done, name, "secret", kind)) yield put(`a secret in ${kind}`, (holder, key) => (holder[key] = "with ghp_0123456789"));
    if (kind in REQUIRED && once(done, name, "gone", kind)) yield put(`${kind} gone`, (holder, key) => delete holder[key]);
    if (kind === "event" && once(done, name, "word")) yield put("an event that is none", (holder, key) => (holder[key] = "DANCE"));
    if (kind === "body" && !("commit_id" in request.body) && once(done, name, "gone", kind)) yield put("body gone", (holder, key) => delete holder[key]);
  }
}

export function* spoiledGraph(request, name, done) {
  const { query, variables } = request.body;
  const make = (what, body) => [what, { ...request, body: { ...request.body, ...body } }];
  if (once(done, name, "once")) {
    yield make("no document", { query: undefined });
    yield make("a key too many", { no_such_key: 1 });
    yield make("another operation", { operationName: "Nothing" });
    yield make("a document cut short", { query: query.slice(0, -2) });
    yield make("a secret in its variables", { variables: { ...variables, after: "ghp_0123456789" } });
    yield make("a variable that is not declared", { variables: { ...variables, no_such: 1 } });
    yield ["no user agent", { ...request, headers: request.headers.filter((one) => one !== "user-agent") }];
    yield ["no authorization", { ...request, headers: request.headers.filter((one) => one !== "authorization") }];
    // A field too many in each set of fields, and each field and argument under another name.
    for (const found of query.matchAll(/\{(?=\s*[A-Za-z.])(?!\s*\w+:)/g)) yield make(`a field too many at ${found.index}`, { query: `${query.slice(0, found.index + 1)} noSuchField ${query.slice(found.index + 1)}` });
    for (const found of query.matchAll(/(?<=[\s{])[a-z]\w*(?=[\s({}])/g)) {
      if (["query", "mutation", "fragment", "on"].includes(found[0])) continue;
      yield make(`${found[0]}X at ${found.index}`, { query: `${query.slice(0, found.index + found[0].length)}X${query.slice(found.index + found[0].length)}` });
    }
    for (const found of query.matchAll(/(?<=[(,{]\s*)[a-z]\w*(?=:)/g)) yield make(`the argument ${found[0]}X`, { query: `${query.slice(0, found.index)}${found[0]}X${query.slice(found.index + found[0].length)}` });
    for (const found of query.matchAll(/\.\.\. on \w+/g)) yield make("a fragment on another type", { query: query.replace(found[0], "... on Nothing") });
    for (const found of query.matchAll(/field: \w+|direction: \w+/g)) yield make("an order that is none", { query: query.replace(found[0], found[0].replace(/\w+$/, "NOTHING")) });
  }
  for (const [key, value] of Object.entries(variables ?? {})) {
    if (!once(done, name, "variable", key)) continue;
    const must = new RegExp(`\\$${key}:\\s*[\\w[\\]!]*!\\s*[,)]`).test(query);
    if (must) yield make(`${key} gone`, { variables: Object.fromEntries(Object.entries(variables).filter(([one]) => one !== key)) });
    if (must) yield make(`${key} null`, { variables: { ...variables, [key]: null } });
    yield make(`${key} of another type`, { variables: { ...variables, [key]: Array.isArray(value) || key === "states" ? [{ a: 7 }] : { a: 7 } } });
  }
}

// What may be null in an answer by the schema is not spoiled with null; `rest` is the description's keeper, nothing for GraphQL.
export function* spoiledAnswers(request, name, done, rest) {
  const { answer, status } = request;
  const make = (what, worse) => [what, { ...request, answer: worse }];
  if (answer === null) return;
  if (once(done, name, "answer with a secret") && !/access_tokens$/.test(request.path)) yield make("a secret in its answer", { message: "ghs_0123456789" });
  if (rest) {
    const schema = rest.answer(request);
    if (!schema || status >= 400) return;
    if (once(done, name, "status")) yield ["a status that is none", { ...request, status: 299 }];
    const first = Array.isArray(answer) ? answer[0] : answer;
    if (first === undefined) return;
    const again = (one) => (Array.isArray(answer) ? [one, ...answer.slice(1)] : one);
    for (const key of rest.required(schema)) {
      if (!once(done, name, status, "answer", key)) continue;
      const { [key]: value, ...others } = first;
      yield make(`${key} gone from the answer`, again(others));
      // Where anything goes, or one of several shapes, another type may be right.
      if (value !== null) yield make(`${key} of another type in the answer`, again({ ...first, [key]: other(value) }));
    }
    return;
  }
  if (!answer.data || answer.errors) return;
  for (const [at, value] of places(answer.data)) {
    const kind = spelled(at);
    if (!at.length || kind === "" || value === undefined) continue;
    const holderIsList = /^\d+$/.test(at.at(-1));
    if (!holderIsList && once(done, name, "gone", kind)) yield make(`${kind} gone`, { data: changed(answer.data, at, (holder, key) => delete holder[key]) });
    if (value !== null && once(done, name, "type", kind)) {
      // What is a type's name decides what is asked of the rest.
      if (at.at(-1) === "__typename") yield make(`${kind} another`, { data: changed(answer.data, at, (holder, key) => (holder[key] = "Nothing")) });
      else yield make(`${kind} of another type`, { data: changed(answer.data, at, (holder, key) => (holder[key] = other(value))) });
    }
    if (value !== null && typeof value === "object" && !Array.isArray(value) && once(done, name, "key", kind))
      yield make(`${kind} with a key too many`, { data: changed(answer.data, at, (holder, key) => (holder[key].noSuchKey = 1)) });
  }
}
