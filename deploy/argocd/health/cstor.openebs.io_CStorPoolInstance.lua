local status = type(obj.status) == "table" and obj.status or {}
local phase = type(status.phase) == "string" and status.phase or ""
local unwell = {
  OFFLINE = true, DEGRADED = true, FAULTED = true, REMOVED = true, UNAVAIL = true,
  Error = true, Invalid = true, ErrorDuplicate = true, DeletionFailed = true,
}

if phase == "ONLINE" then
  if status.readOnly == true then
    return {status = "Degraded", message = "the pool is online but read-only: it is filled up to roThresholdLimit"}
  end
  return {status = "Healthy", message = "the pool is online"}
end
if unwell[phase] then
  return {status = "Degraded", message = "the pool is " .. phase}
end
if phase == "" then
  return {status = "Progressing", message = "the pool manager has not reported yet"}
end
return {status = "Progressing", message = "the pool is " .. phase}
