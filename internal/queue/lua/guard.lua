-- guard stands around each script that changes a project, whose body is the function body: it notices that a key is gone which was there
-- after the last change, and writes down which ones are there after this one. What labellers put off or skipped is in no store but this one, so
-- that nothing could be rebuilt from that.
--
-- The last of KEYS is the set of the names of keys that are there. The first one is the epoch: without it the project is not ready, and
-- it is rebuilt.
local present = KEYS[#KEYS]
KEYS[#KEYS] = nil
local guarded, there = {}, {}
if redis.call('EXISTS', KEYS[1]) == 1 then
  for i = 2, #KEYS do
    local key = KEYS[i]
    if not string.find(key, ':user:later:{', 1, true) and not string.find(key, ':user:skipped:{', 1, true) then
      guarded[#guarded + 1] = key
      there[key] = redis.call('EXISTS', key)
      if there[key] == 0 and redis.call('SISMEMBER', present, key) == 1 then
        redis.call('DEL', KEYS[1])
        return {'NOTREADY'}
      end
    end
  end
end
local reply = body()
for _, key in ipairs(guarded) do
  local now = redis.call('EXISTS', key)
  if now > there[key] then redis.call('SADD', present, key) end
  if now < there[key] then redis.call('SREM', present, key) end
end
-- Who changed something learns where it is, after OK: the epoch and the last event.
local named = told and redis.call('GET', KEYS[1])
if named and reply[1] == 'OK' then reply[1] = 'OK ' .. named .. ' ' .. told end
return reply
