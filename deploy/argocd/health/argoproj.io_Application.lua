-- Argo CD itself says nothing of an Application in another one, so that a wave of
-- Applications would wait for nothing. One that was never synced has no objects, which it
-- calls healthy: that it is synced is asked, too.
local status = type(obj.status) == "table" and obj.status or {}
local health = type(status.health) == "table" and status.health or {}
local sync = type(status.sync) == "table" and status.sync or {}
local message = type(health.message) == "string" and health.message or ""

if health.status == "Degraded" then
  return {status = "Degraded", message = message ~= "" and message or "something of it is degraded"}
end
if sync.status ~= "Synced" then
  return {status = "Progressing", message = "not synced yet"}
end
if health.status == "Healthy" then
  return {status = "Healthy", message = "synced and healthy"}
end
if health.status == "Suspended" then
  return {status = "Suspended", message = message ~= "" and message or "something of it is suspended"}
end
return {status = "Progressing", message = message ~= "" and message or "not healthy yet"}
