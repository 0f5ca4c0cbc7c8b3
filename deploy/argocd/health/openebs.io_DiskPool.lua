-- cr_state is how far the operator came, pool_status how the pool is; a newer
-- operator says the latter as status, too.
local status = type(obj.status) == "table" and obj.status or {}
local pool = type(status.status) == "string" and status.status or status.pool_status
local unwell = {Degraded = true, Faulted = true, Offline = true, Suspected = true, Deleted = true}

if status.cr_state == "Terminating" then
  return {status = "Progressing", message = "the pool is being removed"}
end
if unwell[pool] then
  local code = type(status.error) == "table" and type(status.error.code) == "string" and ": " .. status.error.code or ""
  return {status = "Degraded", message = "the pool is " .. pool .. code}
end
if status.cr_state ~= "Created" then
  return {status = "Progressing", message = "the pool is being made"}
end
if pool == "Online" then
  return {status = "Healthy", message = "the pool is online"}
end
return {status = "Progressing", message = "the pool does not answer yet"}
