-- Argo CD's own check takes every warning of Ceph for Degraded, so that one ends the
-- sync while a cluster comes up. Rook's condition Ready stays true once it was, so its
-- phase is asked, and Ceph. OSDs that are missing are waited for: Rook counts them once a
-- minute, and a cluster that was just made has none yet.
local status = type(obj.status) == "table" and obj.status or {}
local ceph = type(status.ceph) == "table" and status.ceph or {}
local function count(t, of)
  local n = 0
  for k, v in pairs(type(t) == "table" and t or {}) do
    n = n + of(k, v)
  end
  return n
end

if ceph.health == "HEALTH_ERR" then
  local raised = {}
  for name in pairs(type(ceph.details) == "table" and ceph.details or {}) do
    table.insert(raised, tostring(name))
  end
  table.sort(raised)
  return {status = "Degraded", message = "Ceph is in HEALTH_ERR: " .. table.concat(raised, ", ")}
end
if status.phase == "Failure" or status.state == "Error" then
  return {status = "Degraded", message = "Rook failed: " .. (type(status.message) == "string" and status.message or "")}
end
if status.phase ~= "Ready" or status.state ~= "Created" then
  return {status = "Progressing", message = "the cluster is being made"}
end
local spec = type(obj.spec) == "table" and obj.spec or {}
local storage = type(spec.storage) == "table" and spec.storage or {}
local declared = count(storage.nodes, function(_, node)
  return count(type(node) == "table" and node.devices or nil, function(_, device)
    local config = type(device) == "table" and type(device.config) == "table" and device.config or {}
    return tonumber(config.osdsPerDevice) or 1
  end)
end)
local versions = type(ceph.versions) == "table" and ceph.versions or {}
local running = count(versions.osd, function(_, n) return type(n) == "number" and n or 0 end)
if running == 0 or declared > 0 and running ~= declared then
  return {status = "Progressing", message = running .. " of " .. declared .. " OSDs run"}
end
if ceph.health == "HEALTH_OK" or ceph.health == "HEALTH_WARN" then
  return {status = "Healthy", message = ceph.health .. ", " .. running .. " OSDs"}
end
return {status = "Progressing", message = "Ceph does not say how it is yet"}
