-- Drives the language server from a headless Neovim: findings, edits, a dismissal, a review. `lsp.py` starts it and says where everything is.
local command = vim.fn.json_decode(os.getenv("LSP_COMMAND"))
local folder = os.getenv("LSP_FOLDER")
local LIMIT = 30000

local function fail(what)
  io.stderr:write("failed: " .. what .. "\n")
  vim.cmd("cquit 1")
end

local function check(holds, what)
  if not holds then fail(what) end
end

local function wait(what, holds)
  check(vim.wait(LIMIT, holds, 20), what)
end

local statuses, progress = {}, {}
local handlers = {
  ["review/status"] = function(_, params) table.insert(statuses, params) end,
  ["$/progress"] = function(_, params) table.insert(progress, params) end,
  ["window/showMessageRequest"] = function(_, params) return params.actions[1] end,
}

local function main()
  vim.cmd("edit " .. folder .. "/a.py")
  local buffer = vim.api.nvim_get_current_buf()
  local start = vim.lsp.start or vim.lsp.start_client
  local id = start({ name = "review", cmd = command, root_dir = folder, handlers = handlers })
  vim.lsp.buf_attach_client(buffer, id)
  local client = vim.lsp.get_client_by_id(id)
  wait("the server answers initialize", function() return client.initialized end)

  local function lines()
    local found = vim.tbl_map(function(one) return one.lnum end, vim.diagnostic.get(buffer))
    table.sort(found)
    return table.concat(found, " ")
  end
  local function request(method, params)
    local answer = client.request_sync(method, params, LIMIT, buffer)
    check(answer and not answer.err, method .. ": " .. vim.inspect(answer))
    return answer.result
  end
  local function execute(name, argument)
    return request("workspace/executeCommand", { command = name, arguments = { argument } })
  end

  wait("the findings are shown", function() return lines() == "1 5" end)
  vim.api.nvim_buf_set_lines(buffer, 0, 0, false, { "# 😀", "# 漢" })
  wait("they follow the text: " .. lines(), function() return lines() == "3 7" end)

  local at = { line = 3, character = 4 }
  local offered = request("textDocument/codeAction", {
    textDocument = vim.lsp.util.make_text_document_params(buffer),
    range = { start = at, ["end"] = at },
    context = { diagnostics = {} },
  })
  local apply
  for _, action in ipairs(offered) do
    if action.title:find("^Apply the suggestion") then apply = action end
  end
  check(apply ~= nil, "a suggestion is offered: " .. vim.inspect(offered))
  vim.lsp.util.apply_workspace_edit(apply.edit, client.offset_encoding)
  local text = vim.api.nvim_buf_get_lines(buffer, 3, 4, false)[1]
  check(text == "    if name == '😀漢': return 1", "the edit is made: " .. text)
  wait("what was mended is gone", function() return lines() == "7" end)

  local run = execute("review.start", { kind = "branch", target = "main" }).run
  local function kind(wanted)
    return function()
      for _, one in ipairs(progress) do
        if one.token == run and one.value.kind == wanted then return true end
      end
      return false
    end
  end
  wait("the progress begins", kind("begin"))
  wait("the progress is reported", kind("report"))
  wait("a finding is counted", function() return #statuses > 0 and statuses[#statuses].counts.high > 0 and statuses[#statuses].run == run end)
  client.notify("window/workDoneProgress/cancel", { token = run })
  wait("the review is cancelled", kind("end"))
  wait("its end is known", function() return #statuses > 0 and statuses[#statuses].state == "idle" end)

  local findings = request("review/findings", {}).findings
  check(#findings > 0, "there are findings")
  execute("review.dismiss", { finding = findings[1].id, reason = "it is meant so" })
  local left = request("review/findings", {}).findings
  check(#left == #findings - 1, "one is dismissed")
  -- Through the question to the user.
  if #left > 0 then
    execute("review.dismiss", { finding = left[1].id })
    wait("another is dismissed", function() return #request("review/findings", {}).findings == #left - 1 end)
  end
  vim.lsp.stop_client(id)
  wait("the server ends", function() return vim.lsp.get_client_by_id(id) == nil or client.is_stopped() end)
end

local fine, why = pcall(main)
if not fine then fail(tostring(why)) end
vim.cmd("qall!")
