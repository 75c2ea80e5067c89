import js from "@eslint/js";
import tseslint from "typescript-eslint";

export default tseslint.config(
    { ignores: ["out/", "node_modules/"] },
    js.configs.recommended,
    {
        files: ["**/*.ts"],
        extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
        languageOptions: { parserOptions: { project: "./tsconfig.json", tsconfigRootDir: import.meta.dirname } },
        rules: { "no-console": "error", eqeqeq: "error" },
    },
    {
        // node's test runner waits for its tests on its own.
        files: ["test/**/*.ts"],
        rules: { "@typescript-eslint/no-floating-promises": "off" },
    },
    { files: ["scripts/*.mjs"], languageOptions: { globals: { Buffer: "readonly", URL: "readonly" } } },
);
