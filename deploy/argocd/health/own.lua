-- For every kind that is Poolwright's own: poolwright status --write, if it runs, gives
-- all of them the same status. They are records: nothing waits for them, and what they
-- tell of may well need the next commit. So only an error is not Healthy, and one from
-- before the last change is none: who wrote it may no longer run.
local status = type(obj.status) == "table" and obj.status or {}
local metadata = type(obj.metadata) == "table" and obj.metadata or {}
local message = type(status.message) == "string" and status.message or ""

if type(status.observedGeneration) == "number" and status.observedGeneration ~= metadata.generation then
  return {status = "Healthy", message = "the status is from before the last change"}
end
if status.phase == "ERROR" then
  return {status = "Degraded", message = message}
end
if type(status.phase) ~= "string" then
  return {status = "Healthy", message = "no status: poolwright status --write gives it one"}
end
return {status = "Healthy", message = message}
