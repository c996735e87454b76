-- settings writes what the queue knows of the project itself, except whether it is paused. The queue is cut to its size: what is
-- cut off waits in the truth. Subscribers are told of another size and of other lists.
--
-- KEYS: 1 epoch, 2 metadata, 3 queue, 4 queued, 5 categories, 6 subcategories, 7 events,
--   8... statistics of teams.
-- ARGV: 1 name, 2 size (0 for none of its own), 3 user, 4 events to keep, 5 how many teams and 6 how many categories follow,
--   7... types of the teams, then categories, then subcategories.
-- Returns: OK; NOTREADY.
local epoch, metadata, queue, queued, categories, subcategories, events =
  KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
if redis.call('EXISTS', epoch) == 0 then return {'NOTREADY'} end
redis.call('HSET', metadata, 'project-name', ARGV[1])
local size = redis.call('HGET', metadata, 'queue-size') or '0'
if ARGV[2] == '0' then
  redis.call('HDEL', metadata, 'queue-size')
else
  redis.call('HSET', metadata, 'queue-size', ARGV[2])
  while redis.call('LLEN', queue) > tonumber(ARGV[2]) do redis.call('SREM', queued, redis.call('RPOP', queue)) end
end
local function change(cause) tell(events, metadata, queue, ARGV[4], {cause = cause, user = ARGV[3], at = whole(clock())}) end
if size ~= ARGV[2] then change('RESIZED') end

local function lists()
  return table.concat(redis.call('LRANGE', categories, 0, -1), '\0') .. '\0\0' .. table.concat(redis.call('LRANGE', subcategories, 0, -1), '\0')
end
local before = lists()
redis.call('DEL', categories, subcategories)
local teams, labels = tonumber(ARGV[5]), tonumber(ARGV[6])
for i = 1, teams do redis.call('HSET', KEYS[7 + i], 'team:type', ARGV[6 + i]) end
for i = 7 + teams, #ARGV do
  if i - 6 - teams <= labels then
    redis.call('RPUSH', categories, ARGV[i])
  else
    redis.call('RPUSH', subcategories, ARGV[i])
  end
end
if lists() ~= before then change('CATEGORIES_CHANGED') end
return {'OK'}
