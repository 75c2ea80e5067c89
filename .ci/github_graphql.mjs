// GraphQL documents, their variables, and what was answered, against GitHub's schema. Main class: `Graph`.
//
// An answer is checked by carrying the document out again with the answer as its data: whatever is missing, too much, null where it cannot be, or
// of another type shows in an error or in a difference.

import { need } from "./github_rest.mjs";

const SCALARS = {
  BigInt: /^-?\d+$/, DateTime: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/, GitObjectID: /^[0-9a-f]{40}$/, URI: /^https?:\/\/\S+$/,
};

export class Graph {
  constructor(text, library) {
    this.library = library;
    this.schema = library.buildSchema(text, { assumeValid: true, assumeValidSDL: true });
    for (const [name, pattern] of Object.entries(SCALARS)) {
      const scalar = this.schema.getType(name);
      const checked = (value) => {
        if (typeof value !== "string" || !pattern.test(value)) throw new Error(`${name} cannot be ${JSON.stringify(value)}`);
        return value;
      };
      scalar.serialize = checked;
      scalar.coerceOutputValue = checked;
    }
    this.parsed = new Map();
  }

  document(text) {
    if (!this.parsed.has(text)) {
      let document, errors;
      try {
        document = this.library.parse(text);
        errors = this.library.validate(this.schema, document, [...this.library.specifiedRules, this.library.NoDeprecatedCustomRule]);
      } catch (error) {
        errors = [error];
      }
      this.parsed.set(text, { document, why: errors.map((error) => error.message).join("; ") });
    }
    const { document, why } = this.parsed.get(text);
    need(!why, why);
    return document;
  }

  request(body) {
    need(body && typeof body.query === "string", "no document");
    const strange = Object.keys(body).filter((key) => !["query", "operationName", "variables"].includes(key));
    need(strange.length === 0, `GraphQL takes no ${strange}`);
    const document = this.document(body.query);
    const operations = document.definitions.filter((one) => one.kind === "OperationDefinition");
    need(operations.length === 1 && operations[0].name, "one operation, with a name");
    const [operation] = operations;
    need((body.operationName ?? operation.name.value) === operation.name.value, `there is no operation ${body.operationName}`);
    const given = body.variables ?? {};
    const declared = operation.variableDefinitions?.map((one) => one.variable.name.value) ?? [];
    const unknown = Object.keys(given).filter((name) => !declared.includes(name));
    need(unknown.length === 0, `variables that are not declared: ${unknown}`);
    const { errors } = this.library.getVariableValues(this.schema, operation.variableDefinitions ?? [], given);
    need(!errors?.length, errors?.map((error) => error.message).join("; "));
    return operation.name.value;
  }

  async answer(body, answer) {
    const unknown = Object.keys(answer ?? {}).filter((key) => !["data", "errors"].includes(key));
    need(answer && unknown.length === 0, `an answer has no ${unknown}`);
    for (const { message, type, path } of answer.errors ?? []) {
      need(typeof message === "string" && typeof type === "string", "an error without words or type");
      need(path === undefined || (Array.isArray(path) && path.every((key) => ["string", "number"].includes(typeof key))), "an error's path is none");
    }
    if (!("data" in answer)) {
      need(answer.errors?.length > 0, "neither data nor errors");
      return;
    }
    if (answer.data === null) return;
    const result = await this.library.execute({
      schema: this.schema, document: this.document(body.query), rootValue: answer.data, variableValues: body.variables ?? {}, operationName: body.operationName,
      fieldResolver: (source, _args, _context, info) => source[info.path.key],
      typeResolver: (value, _context, info) => value.__typename ?? guessed(info),
    });
    need(!result.errors?.length, result.errors?.map((error) => `${error.path?.join(".")}: ${error.message}`).join("; "));
    need(same(result.data, answer.data), "what was answered is not what was asked for");
  }
}

// The type that an answer must have had where it does not say: that of the only fragment.
function guessed(info) {
  const fragments = info.fieldNodes.flatMap((node) => node.selectionSet.selections).filter((one) => one.kind === "InlineFragment");
  need(fragments.length === 1, `${info.fieldName}: ask for its __typename`);
  return fragments[0].typeCondition.name.value;
}

export function same(one, other) {
  if (one === null || other === null || typeof one !== "object" || typeof other !== "object") return one === other;
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length && keys.every((key) => key in other && same(one[key], other[key]));
}
