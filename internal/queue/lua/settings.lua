-- settings writes what the queue knows of the project itself, except whether it is paused. The queue is cut to its size: what is
-- cut off waits in the truth. Name and size of an earlier version of the project than the last one change nothing. Subscribers are told of
-- another size and of other lists.
--
-- KEYS: 1 epoch, 2 metadata, 3 queue, 4 queued, 5 categories, 6 subcategories, 7 events,
--   8... statistics of teams.
-- ARGV: 1 version of the project, 2 name, 3 size (0 for none of its own), 4 user, 5 events to keep, 6 how many teams and 7 how many
--   categories follow, 8... types of the teams, then categories, then subcategories.
-- Returns: OK; NOTREADY.
local epoch, metadata, queue, queued, categories, subcategories, events =
  KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
if redis.call('EXISTS', epoch) == 0 then return {'NOTREADY'} end
local function change(cause) tell(events, metadata, queue, ARGV[5], {cause = cause, user = ARGV[4], at = whole(clock())}) end

if tonumber(ARGV[1]) >= tonumber(redis.call('HGET', metadata, 'project-version') or '0') then
  local before = redis.call('HGET', metadata, 'queue-size') or '0'
  redis.call('HSET', metadata, 'project-version', ARGV[1], 'project-name', ARGV[2])
  if ARGV[3] == '0' then
    redis.call('HDEL', metadata, 'queue-size')
  else
    redis.call('HSET', metadata, 'queue-size', ARGV[3])
    while redis.call('LLEN', queue) > tonumber(ARGV[3]) do redis.call('SREM', queued, redis.call('RPOP', queue)) end
  end
  if before ~= ARGV[3] then change('RESIZED') end
end

local function lists()
  return table.concat(redis.call('LRANGE', categories, 0, -1), '\0') .. '\0\0' .. table.concat(redis.call('LRANGE', subcategories, 0, -1), '\0')
end
local before = lists()
redis.call('DEL', categories, subcategories)
local teams, labels = tonumber(ARGV[6]), tonumber(ARGV[7])
for i = 1, teams do redis.call('HSET', KEYS[7 + i], 'team:type', ARGV[7 + i]) end
for i = 8 + teams, #ARGV do
  if i - 7 - teams <= labels then
    redis.call('RPUSH', categories, ARGV[i])
  else
    redis.call('RPUSH', subcategories, ARGV[i])
  end
end
if lists() ~= before then change('CATEGORIES_CHANGED') end
return {'OK'}
