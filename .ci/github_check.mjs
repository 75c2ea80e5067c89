// Checks every request that the tests recorded of the GitHub client, and every answer of the fake GitHub, against what GitHub publishes.
//
// usage: node github_check.mjs FOLDER NODE_MODULES
//
// FOLDER holds TEST/NNN.json: method, path, query, names of headers, body, status, answer. REST is held against the OpenAPI description
// (`@octokit/openapi`), GraphQL against the schema (`@octokit/graphql-schema`). Answers that a test wrote itself (`scripted`) are not the fake's and
// are left out. Every operation of `OPERATIONS` must have been recorded, so that none is unchecked. Ends with 1 at the first thing that is wrong.
//
// A check that cannot fail proves nothing: each shape of request and answer is then spoiled in many ways, and each of those must be refused.

import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

import { Graph } from "./github_graphql.mjs";
import { Refused, Rest, need } from "./github_rest.mjs";
import { spoiledAnswers, spoiledGraph, spoiledRest } from "./github_spoil.mjs";

const REPO = "/repos/{owner}/{repo}";
const OPERATIONS = [
  `GET ${REPO}/pulls/{pull_number}`, `GET ${REPO}/pulls/{pull_number}/files`, `GET ${REPO}/pulls/{pull_number}/reviews`,
  `GET ${REPO}/pulls/{pull_number}/comments`, `GET ${REPO}/issues/{issue_number}/comments`, `GET ${REPO}/installation`, "GET /app", "GET /app/installations",
  `POST ${REPO}/pulls/{pull_number}/reviews`, `DELETE ${REPO}/pulls/{pull_number}/reviews/{review_id}`,
  `PUT ${REPO}/pulls/{pull_number}/reviews/{review_id}/dismissals`, `POST ${REPO}/issues/{issue_number}/comments`,
  `PATCH ${REPO}/issues/comments/{comment_id}`, "POST /app/installations/{installation_id}/access_tokens",
  "Viewer", "PullRequest", "ReviewThreads", "ThreadComments", "ReviewThread", "Reviews", "Comments", "PullRequests", "Looks", "ResolveThread", "UnresolveThread",
];
// What a token of the tests looks like, a key, a signed claim.
const SECRET = /ghp_|ghs_|github_pat_|PRIVATE KEY|eyJ[A-Za-z0-9_-]{20}|x-access-token/;
const GIVES_TOKEN = /\/access_tokens$/;

const [folder, modules] = process.argv.slice(2);
const require = createRequire(join(resolve(modules), "nothing.js"));
const read = (name) => readFileSync(join(modules, name), "utf8");
const rest = new Rest(JSON.parse(read("@octokit/openapi/generated/api.github.com.json")), require("ajv").default, require("ajv-formats").default);
const graph = new Graph(read("@octokit/graphql-schema/schema.graphql"), require("graphql"));

const isGraph = (request) => request.path === "/graphql";

export function checkRequest(request) {
  for (const name of request.headers) need(/^[a-z0-9-]+$/.test(name), `${name} is no name of a header`);
  for (const name of ["user-agent", "accept", ...(isGraph(request) ? [] : ["x-github-api-version"]), ...(request.method === "GET" ? [] : ["authorization"])])
    need(request.headers.includes(name), `the header ${name} is missing`);
  const { answer, status, ...asked } = request;
  const shown = SECRET.exec(JSON.stringify(asked));
  need(!shown, `it shows a secret: ${shown?.[0]}`);
  if (!isGraph(request)) return rest.request(request);
  need(request.method === "POST" && request.query === "", "GraphQL is asked by POST");
  return graph.request(request.body);
}

async function checkAnswer(request) {
  if (!GIVES_TOKEN.test(request.path)) need(!SECRET.test(JSON.stringify(request.answer)), "its answer shows a secret");
  if (isGraph(request) && request.status === 200) return graph.answer(request.body, request.answer);
  if (!isGraph(request)) return rest.answer(request);
  need([401, 403, 502].includes(request.status), `GraphQL is never answered with ${request.status}`);
}

async function refused(check) {
  try {
    await check();
  } catch (error) {
    if (error instanceof Refused) return true;
    throw error;
  }
  return false;
}

function fail(message) {
  console.error(`failed: ${message}`);
  process.exit(1);
}

function recorded() {
  if (!existsSync(folder)) fail(`there is no folder ${folder}: run the tests first, they record what they send`);
  const found = [];
  for (const test of readdirSync(folder).sort())
    if (statSync(join(folder, test)).isDirectory())
      for (const file of readdirSync(join(folder, test)).sort()) found.push([`${test}/${file}`, whole(join(folder, test, file))]);
  return found;
}

function whole(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    return fail(`${file} is no record (${error.message}): a test run was cut off while it wrote it; remove ${folder} and run the tests again`);
  }
}

async function main() {
  const all = recorded();
  const seen = new Map();
  let answers = 0, spoilt = 0;
  const done = new Set();
  const blind = async (file, spoiled, check) => {
    for (const [what, worse] of spoiled) {
      spoilt += 1;
      if (!(await refused(() => check(worse)))) fail(`the check is blind: ${file} passes with ${what}`);
    }
  };
  for (const [file, request] of all) {
    try {
      const name = checkRequest(request);
      seen.set(name, (seen.get(name) ?? 0) + 1);
      if (!request.scripted) {
        await checkAnswer(request);
        answers += 1;
      }
      await blind(file, isGraph(request) ? spoiledGraph(request, name, done) : spoiledRest(request, name, done, SECRET), checkRequest);
      if (!request.scripted) await blind(file, spoiledAnswers(request, name, done, isGraph(request) ? null : rest), checkAnswer);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      fail(`${file}: ${error.message}`);
    }
  }
  const missing = OPERATIONS.filter((name) => !seen.has(name));
  if (missing.length) fail(`never recorded: ${missing.join(", ")}`);
  const strange = [...seen.keys()].filter((name) => !OPERATIONS.includes(name));
  if (strange.length) fail(`not in the list of operations: ${strange.join(", ")}`);
  if (spoilt < 500) fail(`only ${spoilt} spoiled requests and answers were tried`);
  console.log(`${all.length} requests of ${seen.size} operations and ${answers} answers are valid, ${spoilt} spoiled ones are refused`);
}

await main();
