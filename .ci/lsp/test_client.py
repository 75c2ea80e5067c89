"""The language server driven by pytest-lsp, as VS Code and as Neovim would: findings, edits, dismissals, reviews.

`lsp.py` starts it and says where everything is, in variables of the environment.
"""

import asyncio
import json
import os
import pathlib

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities, make_test_lsp_client

COMMAND = json.loads(os.environ["LSP_COMMAND"])
FOLDER = pathlib.Path(os.environ["LSP_FOLDER"])
FILE = FOLDER / "a.py"
URI = FILE.as_uri()
LIMIT = 120


def make_client():
    client = make_test_lsp_client()
    client.statuses, client.refreshed = [], 0

    @client.feature("review/status")
    def status(params):
        client.statuses.append(params)

    @client.feature(types.WORKSPACE_APPLY_EDIT)
    def apply(params: types.ApplyWorkspaceEditParams):
        client.applied = params.edit
        return types.ApplyWorkspaceEditResult(applied=True)

    return client


CONFIG = ClientServerConfig(server_command=COMMAND, server_env=dict(os.environ), client_factory=make_client)


async def session(client, name, pulls):
    capabilities = client_capabilities(name)
    if pulls:
        capabilities.text_document.diagnostic = types.DiagnosticClientCapabilities()
    folder = types.WorkspaceFolder(uri=FOLDER.as_uri(), name="shop")
    params = types.InitializeParams(capabilities=capabilities, root_uri=FOLDER.as_uri(), workspace_folders=[folder])
    client.begun = await client.initialize_session(params)


@pytest_lsp.fixture(config=CONFIG)
async def pushed(lsp_client: LanguageClient):
    await session(lsp_client, "neovim@v0.9.1", False)
    yield
    await lsp_client.shutdown_session()


@pytest_lsp.fixture(config=CONFIG)
async def pulling(lsp_client: LanguageClient):
    await session(lsp_client, "visual-studio-code", True)
    yield
    await lsp_client.shutdown_session()


async def until(holds):
    async with asyncio.timeout(LIMIT):
        while not holds():
            await asyncio.sleep(0.02)


def lines(diagnostics):
    return sorted(one.range.start.line for one in diagnostics)


def open_file(client, text):
    document = types.TextDocumentItem(uri=URI, language_id="python", version=1, text=text)
    client.text_document_did_open(types.DidOpenTextDocumentParams(text_document=document))


def insert(client, version, line, character, text):
    at = types.Position(line, character)
    change = types.TextDocumentContentChangePartial(range=types.Range(at, at), text=text)
    document = types.VersionedTextDocumentIdentifier(uri=URI, version=version)
    client.text_document_did_change(types.DidChangeTextDocumentParams(text_document=document, content_changes=[change]))


async def actions(client, line):
    at = types.Position(line, 4)
    params = types.CodeActionParams(
        text_document=types.TextDocumentIdentifier(URI),
        range=types.Range(at, at),
        context=types.CodeActionContext(diagnostics=[]),
    )
    return await client.text_document_code_action_async(params)


async def command(client, name, argument):
    return await client.workspace_execute_command_async(types.ExecuteCommandParams(command=name, arguments=[argument]))


@pytest.mark.asyncio
async def test_diagnostics_follow_the_text_that_is_pushed(pushed):
    await until(lambda: lines(pushed.diagnostics.get(URI, [])) == [1, 5])
    open_file(pushed, FILE.read_text())
    insert(pushed, 2, 0, 0, "# 😀\n# 漢\n")
    await until(lambda: lines(pushed.diagnostics[URI]) == [3, 7])
    insert(pushed, 3, 3, 18, "x")
    await until(lambda: lines(pushed.diagnostics[URI]) == [7])


@pytest.mark.asyncio
async def test_diagnostics_are_pulled_file_by_file_and_all_at_once(pulling):
    assert pulling.begun.capabilities.diagnostic_provider.workspace_diagnostics
    open_file(pulling, "\n" + FILE.read_text())
    document = types.TextDocumentIdentifier(URI)
    report = await pulling.text_document_diagnostic_async(types.DocumentDiagnosticParams(text_document=document))
    assert lines(report.items) == [2, 6]
    again = types.DocumentDiagnosticParams(text_document=document, previous_result_id=report.result_id)
    assert (await pulling.text_document_diagnostic_async(again)).kind == "unchanged"
    whole = await pulling.workspace_diagnostic_async(types.WorkspaceDiagnosticParams(previous_result_ids=[]))
    assert [item.uri for item in whole.items] == [URI]
    assert URI not in pulling.diagnostics


@pytest.mark.asyncio
async def test_a_suggestion_is_applied_to_the_text_of_now(pushed):
    open_file(pushed, "# 漢\n" + FILE.read_text())
    await until(lambda: lines(pushed.diagnostics.get(URI, [])) == [2, 6])
    offered = await actions(pushed, 2)
    [apply] = [one for one in offered if one.title.startswith("Apply the suggestion")]
    edits = apply.edit.document_changes[0].edits if apply.edit.document_changes else apply.edit.changes[URI]
    assert edits[0].new_text == "    if name == '😀漢': return 1\n"
    assert (edits[0].range.start, edits[0].range.end) == (types.Position(2, 0), types.Position(3, 0))
    await command(pushed, "review.apply", {"finding": apply.diagnostics[0].data["finding"]})
    assert pushed.applied is not None
    at = types.TextDocumentPositionParams(types.TextDocumentIdentifier(URI), types.Position(2, 6))
    hover = await pushed.text_document_hover_async(types.HoverParams(at.text_document, at.position))
    assert "is-with-literal" in hover.contents.value


@pytest.mark.asyncio
async def test_reviews_report_progress_and_are_cancelled(pushed):
    started = await command(pushed, "review.start", {"kind": "branch", "target": "main"})
    run = started["run"]
    await until(lambda: any(isinstance(one, types.WorkDoneProgressBegin) for one in pushed.progress_reports.get(run, [])))
    await until(lambda: any(isinstance(one, types.WorkDoneProgressReport) for one in pushed.progress_reports[run]))
    await until(lambda: any(one.state == "running" and one.counts.high for one in pushed.statuses))
    pushed.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams(token=run))
    await until(lambda: isinstance(pushed.progress_reports[run][-1], types.WorkDoneProgressEnd))
    await until(lambda: pushed.statuses[-1].state == "idle")
    assert pushed.statuses[-1].run == run


@pytest.mark.asyncio
async def test_the_dismissal_of_a_finding_takes_it_out(pushed):
    await until(lambda: pushed.statuses)
    listed = await pushed.protocol.send_request_async("review/findings", {})
    [first, *others] = listed.findings
    await command(pushed, "review.dismiss", {"finding": first.id, "reason": "it is meant so"})
    assert "it is meant so" in (FOLDER / ".review/dismissed.toml").read_text()
    listed = await pushed.protocol.send_request_async("review/findings", {})
    assert [one.id for one in listed.findings] == [one.id for one in others]
