-- The attacher tries again after an error, so one is never the end: Degraded would
-- end the sync, and what comes after the attachment would never be applied.
local status = type(obj.status) == "table" and obj.status or {}
local function message(failure)
  return type(failure.message) == "string" and failure.message or "no reason given"
end

if type(status.detachError) == "table" then
  return {status = "Progressing", message = "not detached yet: " .. message(status.detachError)}
end
if status.attached == true then
  return {status = "Healthy", message = "attached"}
end
if type(status.attachError) == "table" then
  return {status = "Progressing", message = "not attached yet: " .. message(status.attachError)}
end
return {status = "Progressing", message = "not attached yet"}
