local status = type(obj.status) == "table" and obj.status or {}

for _, c in ipairs(type(status.conditions) == "table" and status.conditions or {}) do
  if type(c) == "table" and c.type == "Degraded" and c.status == "True" then
    return {status = "Degraded", message = "CDI failed: " .. (type(c.message) == "string" and c.message or tostring(c.reason))}
  end
end
if status.phase == "Error" then
  return {status = "Degraded", message = "CDI failed"}
end
if status.phase == "Deployed" then
  return {status = "Healthy", message = "CDI is deployed"}
end
return {status = "Progressing", message = "CDI is being deployed"}
