-- Rook says in one word how it is, and tries again what it calls a failure.
local status = type(obj.status) == "table" and obj.status or {}
local failed = {Failure = true, ReconcileFailed = true, Failed = true}

if status.phase == "Ready" then
  return {status = "Healthy", message = "ready"}
end
if type(status.phase) == "string" and failed[status.phase] then
  local why = type(status.message) == "string" and status.message or ""
  for _, c in ipairs(type(status.conditions) == "table" and status.conditions or {}) do
    if type(c) == "table" and c.type == "Ready" and type(c.message) == "string" then
      why = c.message
    end
  end
  return {status = "Degraded", message = status.phase .. (why ~= "" and ": " .. why or "")}
end
if type(status.phase) == "string" and status.phase ~= "" then
  return {status = "Progressing", message = "not ready: " .. status.phase}
end
return {status = "Progressing", message = "Rook has not looked at it yet"}
