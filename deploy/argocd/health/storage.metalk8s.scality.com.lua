-- A Volume and a VolumeGroup have one condition, Ready, which the node agent writes; on
-- MetalK8s its operator does. Failed heals when its cause goes.
local status = type(obj.status) == "table" and obj.status or {}
local metadata = type(obj.metadata) == "table" and obj.metadata or {}
local ready = nil
for _, c in ipairs(type(status.conditions) == "table" and status.conditions or {}) do
  if type(c) == "table" and c.type == "Ready" then
    ready = c
  end
end

if type(status.observedGeneration) == "number" and status.observedGeneration ~= metadata.generation then
  return {status = "Progressing", message = "the agent has not seen the last change yet"}
end
if ready == nil then
  return {status = "Progressing", message = "no agent has taken it up yet"}
end
local message = type(ready.message) == "string" and ready.message or ""
local reason = type(ready.reason) == "string" and ready.reason or tostring(ready.status)
if ready.status == "True" then
  return {status = "Healthy", message = message ~= "" and message or "it is ready"}
end
if ready.status == "False" then
  return {status = "Degraded", message = message ~= "" and reason .. ": " .. message or reason}
end
if reason == "Pending" or reason == "Terminating" then
  return {status = "Progressing", message = message ~= "" and message or reason}
end
return {status = "Degraded", message = "its state is not known: " .. reason}
