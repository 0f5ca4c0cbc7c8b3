-- Healthy says that the disk is there, claimed or not.
local status = type(obj.status) == "table" and obj.status or {}

if status.state == "Active" then
  local claim = type(status.claimState) == "string" and status.claimState or "Unclaimed"
  return {status = "Healthy", message = "the disk is there: " .. claim}
end
if status.state == "Inactive" then
  return {status = "Degraded", message = "the disk is gone from its node"}
end
if status.state == "Unknown" then
  return {status = "Progressing", message = "the node does not report the disk"}
end
return {status = "Progressing", message = "the node has not reported the disk yet"}
