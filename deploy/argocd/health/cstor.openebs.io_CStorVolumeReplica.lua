local status = type(obj.status) == "table" and obj.status or {}
local phase = type(status.phase) == "string" and status.phase or ""
local rebuilding = {Rebuilding = true, ReconstructingNewReplica = true, NewReplicaDegraded = true, Recreate = true}

if phase == "Healthy" then
  return {status = "Healthy", message = "the replica is complete"}
end
if phase == "" or phase == "Init" then
  return {status = "Progressing", message = "the replica is being made"}
end
if rebuilding[phase] then
  return {status = "Progressing", message = "the replica is being filled from the others: " .. phase}
end
return {status = "Degraded", message = "the replica is " .. phase}
