-- Argo CD's health of a BatchScore (docs/operate/gitops.md says where it goes). Lua 5.1, no library.
local health = {status = "Progressing", message = "waiting for the controller"}
if obj.status == nil or obj.status.observedGeneration ~= obj.metadata.generation then
  return health
end
local seen = {}
for _, condition in ipairs(obj.status.conditions or {}) do
  seen[condition.type] = condition
end
local function says(type, status)
  return seen[type] ~= nil and seen[type].status == status
end
local function because(type, status)
  return {status = status, message = seen[type].message or ""}
end
-- Ended because its spec says so: that is what git asks for.
if says("Failed", "True") and seen.Failed.reason == "Stopped" then return because("Failed", "Healthy") end
if says("Failed", "True") then return because("Failed", "Degraded") end
if says("Complete", "True") then return because("Complete", "Healthy") end
if says("Stalled", "True") then return because("Stalled", "Degraded") end
-- Ended under a controller that wrote no Complete and Failed.
if says("Succeeded", "False") then return because("Succeeded", "Degraded") end
if says("Succeeded", "True") then return because("Succeeded", "Healthy") end
if says("Suspended", "True") then return because("Suspended", "Suspended") end
if says("Reconciling", "True") then return because("Succeeded", "Progressing") end
-- A job that makes runs (trigger, schedule, rerun) never ends; its runs are checked by themselves.
if obj.status.runs ~= nil and seen.Succeeded ~= nil then return because("Succeeded", "Healthy") end
if seen.Succeeded ~= nil then return because("Succeeded", "Progressing") end
return health
