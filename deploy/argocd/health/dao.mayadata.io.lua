-- For every kind of the group: poolwright status --write gives all of them the
-- same status.
local status = type(obj.status) == "table" and obj.status or {}
local metadata = type(obj.metadata) == "table" and obj.metadata or {}
local message = type(status.message) == "string" and status.message or ""

if type(status.observedGeneration) == "number" and status.observedGeneration ~= metadata.generation then
  return {status = "Progressing", message = "the status is from before the last change"}
end
if status.phase == "OK" then
  return {status = "Healthy", message = message}
end
if status.phase == "ERROR" then
  return {status = "Degraded", message = message}
end
if status.phase == "PROGRESSING" then
  return {status = "Progressing", message = message}
end
return {status = "Progressing", message = "no status yet: poolwright status --write gives it one"}
