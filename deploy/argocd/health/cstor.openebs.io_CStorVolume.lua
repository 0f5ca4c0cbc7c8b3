local status = type(obj.status) == "table" and obj.status or {}
local phase = type(status.phase) == "string" and status.phase or ""
local unwell = {Degraded = true, Offline = true, Error = true, Invalid = true}

if phase == "Healthy" then
  return {status = "Healthy", message = "enough replicas are healthy"}
end
if unwell[phase] then
  local message = type(status.message) == "string" and status.message ~= "" and ": " .. status.message or ""
  return {status = "Degraded", message = "the volume is " .. phase .. message}
end
return {status = "Progressing", message = "the volume waits for its replicas"}
