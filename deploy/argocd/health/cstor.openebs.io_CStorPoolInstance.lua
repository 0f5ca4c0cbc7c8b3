local status = type(obj.status) == "table" and obj.status or {}
local phase = type(status.phase) == "string" and status.phase or ""

if phase == "" then
  return {status = "Progressing", message = "the pool manager has not reported yet"}
end
if phase == "Init" or phase == "Pending" then
  return {status = "Progressing", message = "the pool is " .. phase}
end
if phase == "ONLINE" and status.readOnly == true then
  return {status = "Degraded", message = "the pool is online but read-only: it is filled up to roThresholdLimit"}
end
if phase == "ONLINE" or phase == "DEGRADED" then
  for _, condition in ipairs(type(status.conditions) == "table" and status.conditions or {}) do
    if type(condition) == "table" and condition.type == "DiskReplacement" and condition.status == "True" then
      local said = type(condition.message) == "string" and ": " .. condition.message or ""
      return {status = "Progressing", message = "the pool is rebuilding on a new disk" .. said}
    end
  end
end
if phase == "ONLINE" then
  return {status = "Healthy", message = "the pool is online"}
end
return {status = "Degraded", message = "the pool is " .. phase}
