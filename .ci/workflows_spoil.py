"""What .ci/workflows.py must refuse: sound documents, each with one thing changed. `SPOILED` is the list."""

# Sound documents of the kinds that may have no recipe, so that their checks are proven all the same.
SAMPLES = {
    "gitlab": "review:\n  image: alpine\n  script:\n    - review --target \"$CI_DEFAULT_BRANCH\"\n",
    "azure": "pool:\n  vmImage: ubuntu-24.04\nsteps:\n  - bash: review --target \"$TARGET\"\n    env:\n      TARGET: $(System.PullRequest.TargetBranch)\n",
    "jenkins": "pipeline {\n  stages { stage('review') { steps { sh '''\n    review --target \"$CHANGE_TARGET\"\n  ''' } } }\n}\n",
    "workflow": """name: review
on: pull_request
permissions: {}
concurrency:
  group: review-${{ github.ref }}
  cancel-in-progress: true
jobs:
  review:
    name: review
    runs-on: ubuntu-24.04
    timeout-minutes: 30
    permissions:
      security-events: write # to report to code scanning
    steps:
      - id: review
        uses: OWNER/review@0000000000000000000000000000000000000000 # v0.1.0
        with:
          model: none
      - if: ${{ !cancelled() && steps.review.outputs.outcome == 'complete' }}
        uses: github/codeql-action/upload-sarif@8aad20d150bbac5944a9f9d289da16a4b0d87c1e # v4.36.2
        with:
          sarif_file: ${{ steps.review.outputs.sarif }}
          ref: refs/pull/${{ github.event.pull_request.number }}/head
          sha: ${{ github.event.pull_request.head.sha }}
""",
    "shell": '#!/bin/sh\nreview --target "$1"\n',
}
# (kind or name, what is replaced, by what, the check that must refuse it, a word of what it says)
SPOILED = [
    ("action.yml", "using: composite", "using: composit", "schemas", "composit"),
    ("action.yml", '"$GITHUB_ACTION_PATH/.github/action/install.sh"', "$GITHUB_ACTION_PATH/.github/action/install.sh", "shellcheck", "SC2086"),
    ("action.yml", '"$BINARY" action', "${{ inputs.model }} action", "rules", "becomes code"),
    ("action.yml", '"$BINARY" action', "${{ inputs.model }} action", "zizmor", "template-injection"),
    ("action.yml", "    - id: install\n", "    - uses: actions/checkout@v4\n    - id: install\n", "rules", "not pinned"),
    ("action.yml", "    - id: install\n", "    - uses: actions/checkout@v4\n    - id: install\n", "zizmor", "unpinned-uses"),
    ("action.yml", "shell: bash", "shell: pwsh", "rules", "not bash"),
    (".github/dependabot.yml", "version: 2", "version: 3", "schemas", "dependabot"),
    (".github/dependabot.yml", "    cooldown:\n      default-days: 7\n", "", "zizmor", "dependabot-cooldown"),
    (".github/workflows/review.yml", "runs-on: ubuntu-24.04", "run-on: ubuntu-24.04", "schemas", "review.yml"),
    (".github/workflows/review.yml", "runs-on: ubuntu-24.04", "runs-on: ubuntu-24.05", "actionlint", "ubuntu-24.05"),
    (".github/workflows/review.yml", "vars.REVIEW_MODEL", "steps.nothing.outputs.model", "actionlint", "nothing"),
    (".github/workflows/review.yml", "permissions: {}\n", "", "rules", "permissions at the top"),
    (".github/workflows/review.yml", "permissions: {}\n", "permissions: write-all\n", "zizmor", "excessive-permissions"),
    (".github/workflows/review.yml", "persist-credentials: false", "persist-credentials: true", "rules", "leaves the token"),
    (
        ".github/workflows/review.yml",
        "persist-credentials: false",
        "persist-credentials: false\n          ref: ${{ github.event.pull_request.head.sha }}",
        "rules",
        "chooses what it checks out",
    ),
    (
        ".github/workflows/review.yml",
        "      - uses: ./",
        '      - run: git fetch origin "$HEAD"\n        env:\n          HEAD: ${{ github.head_ref }}\n      - uses: ./',
        "rules",
        "touches the head",
    ),
    (".github/workflows/review.yml", "fail-on: high", "fail-at: high", "rules", "no input ['fail-at']"),
    (".github/workflows/review.yml", "# v7.0.1", "", "rules", "which version"),
    (".github/workflows/review.yml", "@3d3c42e5", "@3d3c42e6", "rules", "more than one way"),
    (".github/workflows/review.yml", "timeout-minutes: 45", "if: true", "rules", "timeout"),
    (".github/workflows/review.yml", "zizmor: ignore[dangerous-triggers]", "", "zizmor", "dangerous-triggers"),
    (".github/workflows/ci.yml", "persist-credentials: false", "persist-credentials: false\n          cache: true", "rules", "keeps a cache"),
    (".github/workflows/ci.yml", "steps.review.outputs.outcome", "steps.review.outputs.result", "rules", "no output ['result']"),
    (".github/workflows/release.yml", '"$image:$VERSION-$PLATFORM"', "$image:$VERSION-$PLATFORM", "shellcheck", "SC2086"),
    (".github/workflows/release.yml", "needs: [version, build]", "needs: [version, built]", "actionlint", "built"),
    (".github/workflows/release.yml", "    permissions:\n      contents: write # to make the release\n", "", "rules", "does not say which"),
    (".github/action/install.sh", '"$folder/trouble"', "$folder/trouble", "shellcheck", "SC2086"),
    ("gitlab", "script:", "skript:", "schemas", "gitlab"),
    ("gitlab", '"$CI_DEFAULT_BRANCH"', "$CI_DEFAULT_BRANCH", "shellcheck", "SC2086"),
    ("azure", "steps:", "stepz:", "schemas", "azure"),
    ("azure", '"$TARGET"', "$TARGET", "shellcheck", "SC2086"),
    ("azure", '"$TARGET"', '"$(System.PullRequest.TargetBranch)"', "rules", "becomes code"),
    ("jenkins", '"$CHANGE_TARGET"', "$CHANGE_TARGET", "shellcheck", "SC2086"),
    ("jenkins", "'''", '"""', "shellcheck", "only the shell"),
    ("workflow", " && steps.review.outputs.outcome == 'complete'", "", "rules", "not complete"),
    ("workflow", "          ref: refs/pull/${{ github.event.pull_request.number }}/head\n", "", "rules", "another commit"),
    ("workflow", "          sha: ${{ github.event.pull_request.head.sha }}\n", "", "rules", "another commit"),
    ("shell", '"$1"', "$1", "shellcheck", "SC2086"),
    ("docs/recipes/github-fork-post.yml", "          merge-multiple: true\n          path: ${{ runner.temp }}/untrusted-review\n", "", "rules", "merge-multiple"),
]
