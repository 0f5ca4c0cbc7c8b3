local status = type(obj.status) == "table" and obj.status or {}
local phase = type(status.phase) == "string" and status.phase or ""

if phase == "Bound" then
  return {status = "Healthy", message = "the volume is provisioned"}
end
if phase == "Failed" then
  return {status = "Degraded", message = "the volume could not be provisioned"}
end
return {status = "Progressing", message = "the volume is being provisioned"}
