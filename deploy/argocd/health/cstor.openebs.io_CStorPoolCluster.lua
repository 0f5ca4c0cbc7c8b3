-- The operator counts pools, and does not say which spec it counted for: a count
-- that is not the spec's is from before the last change.
local status = type(obj.status) == "table" and obj.status or {}
local spec = type(obj.spec) == "table" and obj.spec or {}
local metadata = type(obj.metadata) == "table" and obj.metadata or {}
local annotations = metadata.annotations
if type(annotations) == "table" and annotations["reconcile.openebs.io/disable"] == "true" then
  return {status = "Suspended", message = "reconcile.openebs.io/disable: the operator leaves it alone"}
end

local function count(value)
  return type(value) == "number" and value or 0
end
local wanted = type(spec.pools) == "table" and #spec.pools or 0
local desired, made, healthy = count(status.desiredInstances), count(status.provisionedInstances), count(status.healthyInstances)

if type(status.desiredInstances) ~= "number" then
  return {status = "Progressing", message = "the operator has not seen it yet"}
end
if desired ~= wanted then
  return {status = "Progressing", message = "the operator has not seen the last change: the spec has " .. wanted .. " pools, the status " .. desired}
end
if made ~= desired then
  return {status = "Progressing", message = made .. " pools exist, " .. desired .. " are wanted"}
end
-- Pools take minutes to come up; until then fewer is no fault, which would end the
-- sync that makes them.
local young = os.date("!%Y-%m-%dT%H:%M:%SZ", os.time() - 600)
if healthy ~= desired and type(metadata.creationTimestamp) == "string" and metadata.creationTimestamp > young then
  return {status = "Progressing", message = healthy .. " of " .. desired .. " pools are up"}
end
if healthy ~= desired then
  return {status = "Degraded", message = healthy .. " of " .. desired .. " pools are healthy"}
end
return {status = "Healthy", message = "all of " .. desired .. " pools are healthy"}
