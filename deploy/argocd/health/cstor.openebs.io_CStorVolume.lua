local status = type(obj.status) == "table" and obj.status or {}
local phase = type(status.phase) == "string" and status.phase or ""

if phase == "Healthy" then
  return {status = "Healthy", message = "enough replicas are healthy"}
end
if phase == "" or phase == "Init" or phase == "Pending" then
  return {status = "Progressing", message = "the volume waits for its replicas"}
end
local message = type(status.message) == "string" and status.message ~= "" and ": " .. status.message or ""
return {status = "Degraded", message = "the volume is " .. phase .. message}
