// REST requests and answers against GitHub's OpenAPI description. Main class: `Rest`.
//
// The description leaves objects open; a body's are closed here, so that a key that GitHub does not know is refused. Its `nullable` is turned into
// what JSON Schema says.

const METHODS_WITHOUT_BODY = new Set(["GET", "DELETE"]);
// Answers that any request may get without the description saying so for each.
const EVERYWHERE = new Set([301, 304, 307, 401, 403, 404, 422, 502]);

export class Refused extends Error {}

export function need(holds, why) {
  if (!holds) throw new Refused(why);
}

function convert(value, inExample = false) {
  if (Array.isArray(value)) return value.map((one) => convert(one, inExample));
  if (value === null || typeof value !== "object") return value;
  const made = {};
  for (const [key, one] of Object.entries(value)) {
    if (key === "nullable" || key === "example" || key === "examples" || key === "discriminator") {
      // A property may have such a name too; then it is a schema.
      if (typeof one !== "object" || key !== "nullable") if (!(key in PROPERTY_NAMES && isSchema(one))) continue;
    }
    made[key] = convert(one, inExample);
  }
  return value.nullable === true ? { anyOf: [{ type: "null" }, made] } : made;
}

const PROPERTY_NAMES = { example: true, examples: true };
const isSchema = (one) => one !== null && typeof one === "object" && ("type" in one || "$ref" in one);

export class Rest {
  constructor(description, Ajv, addFormats) {
    this.description = convert(description);
    this.ajv = new Ajv({ strict: false, allErrors: false, logger: false });
    addFormats(this.ajv);
    this.ajv.addSchema(this.description, "github");
    this.compiled = new Map();
    // Fixed parts first: `/issues/comments/{id}` is not `/issues/{number}/{…}`.
    this.templates = Object.keys(description.paths).map((template) => {
      const parts = template.split("/").slice(1);
      return { template, parts, names: parts.filter((part) => part.startsWith("{")) };
    });
    this.templates.sort((a, b) => a.names.length - b.names.length);
  }

  // The schema at a pointer of the description, compiled once.
  validator(key, make) {
    if (!this.compiled.has(key)) this.compiled.set(key, this.ajv.compile(make()));
    return this.compiled.get(key);
  }

  resolve(value) {
    while (value?.$ref) value = value.$ref.slice(2).split("/").reduce((at, part) => at[part.replaceAll("~1", "/").replaceAll("~0", "~")], this.description);
    return value;
  }

  route(request) {
    // The address by number, which a renamed repository leads to, is the same route.
    const path = request.path.replace(/^\/repositories\/\d+(?=\/|$)/, "/repos/by/number");
    const parts = path.split("/").slice(1);
    const fits = ({ parts: wanted }) => wanted.length === parts.length && wanted.every((part, at) => part.startsWith("{") ? parts[at] !== "" : part === parts[at]);
    const found = this.templates.find((one) => fits(one) && this.description.paths[one.template][request.method.toLowerCase()]);
    need(found, `there is no route ${request.method} ${request.path}`);
    const given = Object.fromEntries(found.parts.map((part, at) => [part, parts[at]]).filter(([part]) => part.startsWith("{")).map(([part, value]) => [part.slice(1, -1), decodeURIComponent(value)]));
    return { template: found.template, operation: this.description.paths[found.template][request.method.toLowerCase()], given };
  }

  request(request) {
    const { template, operation, given } = this.route(request);
    const name = `${request.method} ${template}`;
    const parameters = [...(this.description.paths[template].parameters ?? []), ...(operation.parameters ?? [])].map((one) => this.resolve(one));
    const query = new URLSearchParams(request.query);
    for (const key of new Set(query.keys())) {
      need(parameters.some((one) => one.in === "query" && one.name === key), `${name} has no parameter ${key}`);
      need(query.getAll(key).length === 1, `${name}: ${key} was given twice`);
    }
    for (const one of parameters) {
      const text = one.in === "path" ? given[one.name] : one.in === "query" ? query.get(one.name) : undefined;
      if (text === undefined || text === null) {
        need(!one.required || one.in === "header", `${name}: ${one.name} is missing`);
        continue;
      }
      const is = this.validator(`${name} ${one.in} ${one.name}`, () => rooted(one.schema));
      const value = /^\d+$/.test(text) ? Number(text) : text;
      need(is(value) || is(text), `${name}: ${one.name} cannot be ${text}`);
    }
    this.body(name, request, operation);
    return name;
  }

  body(name, request, operation) {
    const wanted = this.resolve(operation.requestBody);
    if (!wanted || METHODS_WITHOUT_BODY.has(request.method)) {
      need(request.body === null, `${name} takes no body`);
      return;
    }
    if (request.body === null) {
      need(!wanted.required, `${name} needs a body`);
      return;
    }
    const schema = wanted.content["application/json"].schema;
    const is = this.validator(`${name} body`, () => this.closed(schema));
    need(is(request.body), `${name}: ${this.ajv.errorsText(is.errors)}`);
  }

  // A schema that takes no key that it does not name.
  closed(schema) {
    schema = this.resolve(schema);
    const made = { ...schema };
    if (made.properties) {
      made.properties = Object.fromEntries(Object.entries(made.properties).map(([key, one]) => [key, this.closed(one)]));
      made.additionalProperties = made.additionalProperties ?? false;
    }
    if (made.items) made.items = this.closed(made.items);
    for (const word of ["anyOf", "oneOf", "allOf"]) if (made[word]) made[word] = made[word].map((one) => (one.required && !one.properties ? one : this.closed(one)));
    return made;
  }

  answer(request) {
    const { template, operation } = this.route(request);
    const name = `${request.method} ${template}`;
    const told = this.resolve(operation.responses[String(request.status)]);
    need(told || EVERYWHERE.has(request.status), `${name} is never answered with ${request.status}`);
    const schema = told?.content?.["application/json"]?.schema;
    if (request.status === 304 || request.status === 204) {
      need(request.answer === null, `${name}: ${request.status} has no body`);
    } else if (schema) {
      const is = this.validator(`${name} ${request.status}`, () => rooted(schema));
      need(is(request.answer), `${name} answered ${request.status}: ${this.ajv.errorsText(is.errors)}`);
    }
    return schema;
  }

  // Keys that an object of this schema cannot be without.
  required(schema) {
    schema = this.resolve(schema);
    if (schema?.items) return this.required(schema.items);
    return schema?.required ?? [];
  }
}

// The schema as one of its own, with its references into the description.
function rooted(schema) {
  return JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"github#/'));
}
