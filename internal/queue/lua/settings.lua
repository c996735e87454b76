-- settings writes what the queue knows of the project itself, except whether it is paused. The queue is cut to its size: what is
-- cut off waits in the truth.
--
-- KEYS: 1 epoch, 2 metadata, 3 queue, 4 queued, 5 categories, 6 subcategories, 7... statistics of teams.
-- ARGV: 1 name, 2 size (0 for none of its own), 3 how many teams and 4 how many categories follow, 5... types of the teams, then
--   categories, then subcategories.
-- Returns: OK; NOTREADY.
local epoch, metadata, queue, queued, categories, subcategories = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
if redis.call('EXISTS', epoch) == 0 then return {'NOTREADY'} end
redis.call('HSET', metadata, 'project-name', ARGV[1])
if ARGV[2] == '0' then
  redis.call('HDEL', metadata, 'queue-size')
else
  redis.call('HSET', metadata, 'queue-size', ARGV[2])
  while redis.call('LLEN', queue) > tonumber(ARGV[2]) do redis.call('SREM', queued, redis.call('RPOP', queue)) end
end
redis.call('DEL', categories, subcategories)
local teams, labels = tonumber(ARGV[3]), tonumber(ARGV[4])
for i = 1, teams do redis.call('HSET', KEYS[6 + i], 'team:type', ARGV[4 + i]) end
for i = 5 + teams, #ARGV do
  if i - 4 - teams <= labels then
    redis.call('RPUSH', categories, ARGV[i])
  else
    redis.call('RPUSH', subcategories, ARGV[i])
  end
end
return {'OK'}
