local status = type(obj.status) == "table" and obj.status or {}

if status.phase == "Bound" then
  local spec = type(obj.spec) == "table" and obj.spec or {}
  local device = type(spec.blockDeviceName) == "string" and spec.blockDeviceName or "a disk"
  return {status = "Healthy", message = "holds " .. device}
end
if status.phase == "Invalid Capacity Request" then
  return {status = "Degraded", message = "asks for a capacity that cannot be"}
end
return {status = "Progressing", message = "waits for its disk"}
